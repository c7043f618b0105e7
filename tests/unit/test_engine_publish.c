/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_publish.c - cost of handing events over: text grows without the engine's lock, and
 * polling looks at answers with an event only, the oldest first. */
#include "base/alloc.h"
#include "engine_requests.h"
#include <stdlib.h>

/* Counts allocations, of any thread, and those by a thread that holds the lock of the engine. */
struct lock_watch {
    struct quire_engine *engine;
    uint32_t n_allocations, n_locked;
};

static void *watch_alloc(void *user, size_t bytes, size_t align)
{
    struct lock_watch *w = user;
    __atomic_add_fetch(&w->n_allocations, 1, __ATOMIC_RELAXED);
    if (w->engine && pthread_mutex_trylock(&w->engine->lock) == 0)
        pthread_mutex_unlock(&w->engine->lock);
    else if (w->engine)
        __atomic_add_fetch(&w->n_locked, 1, __ATOMIC_RELAXED);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void watch_free(void *user, void *p, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(p);
}

/* Nothing is polled before the end, so the text of an answer grows several times. */
static void text_grows_without_the_lock(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct lock_watch watch = { .engine = NULL };
    const struct quire_allocator hooks = { .alloc = watch_alloc,
                                           .free = watch_free,
                                           .user = &watch };
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    static struct result polled, late;
    ep.allocator = &hooks;
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 300);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, &polled);
    const quire_request_id id = submit(e, &p);
    struct qr_text_buffer *text = &e->requests[id % e->n_requests].text;
    qr_free(ep.allocator, text->text, text->capacity, 1);
    *text = (struct qr_text_buffer){ 0 }; /* grows from nothing */
    watch = (struct lock_watch){ .engine = e };
    while (quire_engine_active_count(e))
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_true(watch.n_allocations > 0);
    assert_int_equal(watch.n_locked, 0);
    watch.engine = NULL;
    run_one(e, id, &late);
    assert_same(&polled, &late);
    quire_engine_close(e);
}

/* Runs a request to its end without polling. */
static quire_request_id finish_one(struct quire_engine *e)
{
    const struct quire_request_params p = greedy(story, 3);
    const quire_request_id id = submit(e, &p);
    while (quire_engine_active_count(e))
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    return id;
}

static void poll_all_of(struct quire_engine *e, quire_request_id id)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    do {
        assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
        assert_int_equal(ev.id, id);
    } while (ev.kind != QUIRE_EVENT_DONE);
}

/* A slot that is not in the list of answers with an event is not looked at, whatever its state;
 * the oldest event comes first, whatever the slot. */
static void polling_reads_ready_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_requests = 64;
    struct quire_engine *e = open_with(&ep);
    struct quire_event ev = { .struct_size = sizeof ev };
    e->requests[40].state = QR_REQUEST_FINISHED;
    e->requests[40].text_event_due = true;
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    const quire_request_id a = finish_one(e), b = finish_one(e);
    poll_all_of(e, a);
    const quire_request_id c = finish_one(e); /* in the slot of a */
    assert_int_equal(c % e->n_requests, a % e->n_requests);
    assert_status(QUIRE_OK, quire_engine_wait(e, c, 0, &ev, NULL)); /* its text */
    assert_int_equal(ev.id, c);
    poll_all_of(e, b);
    poll_all_of(e, c);
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_null(e->first_ready);
    assert_null(e->last_ready);
    e->requests[40].state = QR_REQUEST_FREE;
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_without_the_lock),
        cmocka_unit_test(polling_reads_ready_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
