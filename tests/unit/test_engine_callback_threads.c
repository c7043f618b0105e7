/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_callback_threads.c - callbacks and threads: who waits for their end, closing, many
 * threads that submit. */
#include "test_callback.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>

static quire_status slow(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    struct seen *s = user;
    (void)e;
    const struct timespec t = { 0, 20000000 };
    if (ev->kind != QUIRE_EVENT_DONE)
        return QUIRE_OK;
    __atomic_store_n(&s->n_done, 1, __ATOMIC_RELAXED);
    (void)nanosleep(&t, NULL);
    s->returned = true;
    return QUIRE_OK;
}

/* What waits for a request, or drains, returns after its last callback: then the host may free what
 * the callback uses. Thread sanitizers check the order. */
static void test_end_of_callback(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        const struct quire_engine_params ep = tiny_params();
        struct quire_engine *e = open_with(&ep);
        assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        struct seen *s = calloc(1, sizeof *s);
        assert_non_null(s);
        struct quire_request_params p = greedy(story, 3);
        p.event_callback = slow;
        p.event_user = s;
        const quire_request_id id = submit(e, &p);
        struct quire_event ev = { .struct_size = sizeof ev };
        while (!__atomic_load_n(&s->n_done, __ATOMIC_RELAXED))
            (void)sched_yield(); /* until the last callback runs */
        if (way == 2)
            assert_status(QUIRE_OK, quire_engine_drain(e, -1, NULL));
        else
            assert_status(QUIRE_OK, quire_engine_wait(e, way ? id : 0, -1, &ev, NULL));
        assert_true(s->returned);
        free(s);
        quire_engine_close(e);
    }
}

static quire_status count(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    (void)e;
    (void)ev;
    const struct timespec t = { 0, 500000 };
    (void)nanosleep(&t, NULL);
    ++*(uint32_t *)user; /* not atomic: close must order it */
    return QUIRE_OK;
}

/* Closing without draining waits for the callbacks of the step that runs; none comes later. */
static void test_close(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        const struct quire_engine_params ep = tiny_params();
        struct quire_engine *e = open_with(&ep);
        uint32_t *calls = calloc(1, sizeof *calls);
        assert_non_null(calls);
        struct quire_request_params p = greedy(story, 100);
        p.event_callback = count;
        p.event_user = calls;
        assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        for (int k = 0; k < 4; k++)
            (void)submit(e, &p);
        const struct timespec t = { 0, i * 1000000 };
        (void)nanosleep(&t, NULL);
        quire_engine_close(e);
        free(calls);
    }
}

enum { THREADS = 8, PER_THREAD = 12 };

struct submitter {
    struct quire_engine *e;
    struct seen seen[PER_THREAD];
    uint32_t seed, n_again;
    pthread_t thread;
};

static void *submit_many(void *arg)
{
    struct submitter *s = arg;
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        struct quire_request_params p = with_callback(&s->seen[i], 1 + next_random(&s->seed) % 8);
        p.text_size = 1 + next_random(&s->seed) % p.text_size;
        s->seen[i].fail_at = i % 4 == 3 ? 1 + next_random(&s->seed) % 4 : 0;
        quire_request_id id;
        quire_status status;
        while ((status = quire_engine_submit(s->e, &p, &id, NULL)) == QUIRE_E_AGAIN) {
            const struct timespec t = { 0, 200000 };
            (void)nanosleep(&t, NULL);
            s->n_again++;
        }
        assert_status(QUIRE_OK, status);
        if (i % 5 == 4)
            (void)quire_request_cancel(s->e, id);
        if (i % 3 == 2) { /* waits for its own request */
            struct quire_event ev = { .struct_size = sizeof ev };
            assert_status(QUIRE_OK, quire_engine_wait(s->e, id, -1, &ev, NULL));
            assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
            assert_int_equal(s->seen[i].n_done, 1);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    ep.max_requests = 10;
    ep.max_seqs = 4;
    for (int own_thread = 0; own_thread < 2; own_thread++) {
        static struct submitter s[THREADS];
        struct quire_engine *e = open_with(&ep);
        if (own_thread)
            assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        for (uint32_t i = 0; i < THREADS; i++) {
            s[i] = (struct submitter){ .e = e, .seed = i + 1 };
            assert_int_equal(pthread_create(&s[i].thread, NULL, submit_many, &s[i]), 0);
        }
        /* otherwise this thread and those that wait run the steps */
        for (uint32_t i = 0; i < THREADS && own_thread; i++)
            assert_int_equal(pthread_join(s[i].thread, NULL), 0);
        for (bool done = own_thread; !done;) {
            (void)!quire_engine_step(e, NULL);
            pthread_mutex_lock(&e->lock);
            done = e->n_submitted == THREADS * PER_THREAD && e->n_active == 0;
            pthread_mutex_unlock(&e->lock);
        }
        for (uint32_t i = 0; i < THREADS && !own_thread; i++)
            assert_int_equal(pthread_join(s[i].thread, NULL), 0);
        assert_status(QUIRE_OK, quire_engine_drain(e, -1, NULL));
        for (uint32_t i = 0; i < THREADS; i++)
            for (uint32_t k = 0; k < PER_THREAD; k++)
                assert_int_equal(s[i].seen[k].n_done, 1);
        assert_int_equal(e->n_free, e->n_requests);
        assert_no_event(e);
        quire_engine_close(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_callback),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
