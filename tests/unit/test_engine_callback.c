/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_callback.c - events delivered by callbacks: the same as by polling, each once and in
 * order; what a callback may call. */
#include "test_callback.h"
#include "test_dir.h"
#include <poll.h>

/* By steps, by waiting for it, and by the engine's thread: the events that polling gives, and no
 * event for those who poll. */
static void test_delivery(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    ep.max_step_tokens = 16;
    struct quire_engine *e = open_with(&ep);
    struct seen s;
    struct result want;
    int fd;
    struct quire_event ev = { .struct_size = sizeof ev };
    struct quire_request_params p = with_callback(&s, 20);
    p.event_callback = NULL;
    p.flags |= QUIRE_REQUEST_ECHO;
    generate(e, &p, &want);
    assert_status(QUIRE_OK, quire_engine_event_fd(e, &fd, NULL));
    assert_no_event(e);
    for (int way = 0; way < 4; way++) {
        p = with_callback(&s, 20);
        p.flags |= QUIRE_REQUEST_ECHO | QUIRE_REQUEST_NO_REUSE;
        if (way == 3)
            assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        const quire_request_id id = submit(e, &p);
        if (way == 0) {
            run_steps(e);
        } else {
            assert_status(QUIRE_OK, quire_engine_wait(e, way == 1 ? 0 : id, -1, &ev, NULL));
            assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
        }
        assert_int_equal(s.n_done, 1);
        assert_true(s.n_events > 20 && s.id == id);
        assert_same(&want, &s.result);
        struct pollfd descriptor = { fd, POLLIN, 0 };
        assert_int_equal(poll(&descriptor, 1, 0), 0);
        assert_int_equal(e->n_free, e->n_requests);
    }
    quire_engine_close(e);
}

/* ---- Cancellation and failures */

static void test_cancel_by_status(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct seen s, other;
    for (uint32_t at = 1; at <= 8; at++) {
        struct quire_request_params p = with_callback(&s, 6);
        s.fail_at = at;
        (void)submit(e, &p);
        p = with_callback(&other, 6);
        (void)submit(e, &p);
        run_steps(e);
        /* the last text, or DONE itself, comes too late to cancel */
        assert_int_equal(s.reason, at <= 5 ? QUIRE_FINISH_CANCELLED : QUIRE_FINISH_LENGTH);
        assert_int_equal(other.reason, QUIRE_FINISH_LENGTH);
        assert_int_equal(s.n_done, 1);
        assert_true(s.n_events >= at || at == 8);
    }
    quire_engine_close(e);
}

static quire_status fail_hook(void *user, const struct quire_logits_args *args)
{
    (void)user;
    return args->n_tokens % 4 ? QUIRE_OK : QUIRE_E_IO;
}

static void test_failure(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct seen s;
    struct quire_request_params p = with_callback(&s, 30);
    p.logits_hook = fail_hook;
    (void)submit(e, &p);
    run_steps(e);
    assert_int_equal(s.reason, QUIRE_FINISH_ERROR);
    assert_int_equal(s.status, QUIRE_E_IO);
    assert_int_equal(s.n_done, 1);
    quire_engine_close(e);
}

struct pair {
    struct seen seen;
    quire_request_id victim;
    quire_status cancelled;
};

static quire_status cancel_other(void *user, struct quire_engine *engine,
                                 const struct quire_event *ev)
{
    struct pair *p = user;
    if (ev->kind == QUIRE_EVENT_TEXT && p->victim) {
        p->cancelled = quire_request_cancel(engine, p->victim);
        p->victim = 0;
    }
    return record(&p->seen, engine, ev);
}

static void test_cancel_other(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct pair killer = { .cancelled = QUIRE_E_INTERNAL };
    struct seen victim;
    struct quire_request_params p = with_callback(&victim, 100);
    killer.victim = submit(e, &p);
    p = with_callback(&killer.seen, 10);
    p.event_callback = cancel_other;
    p.event_user = &killer;
    (void)submit(e, &p);
    run_steps(e);
    assert_status(QUIRE_OK, killer.cancelled);
    assert_int_equal(victim.reason, QUIRE_FINISH_CANCELLED);
    assert_int_equal(killer.seen.reason, QUIRE_FINISH_LENGTH);
    quire_engine_close(e);
}

/* ---- Several answers */

struct group {
    uint32_t n_done, order[8];
    struct result results[8];
};

static quire_status record_choice(void *user, struct quire_engine *engine,
                                  const struct quire_event *ev)
{
    struct group *g = user;
    (void)engine;
    append_event(ev, &g->results[ev->choice]);
    if (ev->kind == QUIRE_EVENT_DONE) {
        g->results[ev->choice].done.reason = ev->reason;
        g->order[g->n_done++] = ev->choice;
    }
    return QUIRE_OK;
}

static void test_answers(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    static struct group g, want;
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1.2f;
    for (uint32_t best_of = 0; best_of <= 6; best_of += 6) {
        struct quire_request_params p = greedy(story, 12);
        p.sampling = &sampling;
        p.n = 3;
        p.best_of = best_of;
        memset(&g, 0, sizeof g);
        memset(&want, 0, sizeof want);
        const quire_request_id id = submit(e, &p);
        struct quire_event ev = { .struct_size = sizeof ev };
        while (want.n_done < 3) {
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            assert_status(QUIRE_OK, record_choice(&want, e, &ev));
        }
        p.event_callback = record_choice;
        p.event_user = &g;
        (void)submit(e, &p);
        run_steps(e);
        assert_int_equal(g.n_done, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_same(&want.results[i], &g.results[i]);
            assert_true(!best_of || g.order[i] == i); /* best first */
        }
        assert_int_equal(e->n_free, e->n_requests);
    }
    quire_engine_close(e);
}

/* ---- Calls from a callback */

struct caller {
    struct seen seen;
    char path[128];
    uint32_t n_refused;
};

static quire_status call_all(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    struct caller *c = user;
    struct quire_event got = { .struct_size = sizeof got };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_cache_file_params file;
    quire_cache_file_params_init(&file, sizeof file);
    file.path = c->path;
    assert_status(QUIRE_E_MISUSE, quire_engine_step(e, &err));
    assert_non_null(strstr(err.msg, "event callback"));
    assert_status(QUIRE_E_MISUSE, quire_engine_poll(e, &got, &err));
    assert_status(QUIRE_E_MISUSE, quire_engine_wait(e, 0, -1, &got, &err));
    assert_status(QUIRE_E_MISUSE, quire_engine_wait(e, ev->id, 0, &got, &err));
    assert_status(QUIRE_E_MISUSE, quire_engine_drain(e, -1, &err));
    assert_status(QUIRE_E_MISUSE, quire_engine_save_cache(e, &file, NULL, &err));
    assert_status(QUIRE_E_MISUSE, quire_engine_restore_cache(e, &file, NULL, &err));
    quire_engine_close(e);
    c->n_refused++;
    /* these work */
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    struct quire_engine_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    assert_true(stats.n_steps > 0 && quire_engine_active_count(e) > 0);
    const struct quire_request_params p = greedy("x", 1);
    size_t n;
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &n, NULL));
    int fd;
    assert_status(QUIRE_OK, quire_engine_event_fd(e, &fd, NULL));
    return record(&c->seen, e, ev);
}

static void test_calls(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct caller c = { .n_refused = 0 };
    snprintf(c.path, sizeof c.path, "%s/cache", dir);
    for (int own_thread = 0; own_thread < 2; own_thread++) {
        struct quire_engine *e = open_with(&ep);
        struct quire_request_params p = with_callback(&c.seen, 5);
        p.event_callback = call_all;
        p.event_user = &c;
        c.n_refused = 0;
        if (own_thread)
            assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        (void)submit(e, &p);
        if (own_thread)
            assert_status(QUIRE_OK, quire_engine_drain(e, -1, NULL));
        else
            run_steps(e);
        assert_true(c.seen.n_done == 1 && c.n_refused == c.seen.n_events);
        quire_engine_close(e);
    }
}

/* A callback uses another engine, whose callback in turn may not use the first. */
static struct quire_engine *outer_engine;

static quire_status misuse_outer(void *user, struct quire_engine *inner,
                                 const struct quire_event *ev)
{
    struct quire_event got = { .struct_size = sizeof got };
    assert_status(QUIRE_E_MISUSE, quire_engine_wait(outer_engine, 0, -1, &got, NULL));
    return record(user, inner, ev);
}

static quire_status use_engine(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    struct quire_engine *inner = user;
    struct seen s;
    (void)ev;
    outer_engine = e;
    struct quire_request_params p = with_callback(&s, 2);
    p.event_callback = misuse_outer;
    (void)submit(inner, &p);
    run_steps(inner);
    assert_int_equal(s.n_done, 1);
    assert_status(QUIRE_E_MISUSE, quire_engine_step(e, NULL));
    return QUIRE_OK;
}

static void test_two_engines(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *outer = open_with(&ep), *inner = open_with(&ep);
    struct quire_request_params p = greedy(story, 3);
    p.event_callback = use_engine;
    p.event_user = inner;
    (void)submit(outer, &p);
    run_steps(outer);
    quire_engine_close(outer);
    quire_engine_close(inner);
}

/* The place of a request is free when its last event is delivered, also if it is the only one. */
struct chain {
    uint32_t left, n_done;
};

static quire_status submit_next(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    struct chain *c = user;
    if (ev->kind != QUIRE_EVENT_DONE)
        return QUIRE_OK;
    assert_status(QUIRE_E_RANGE, quire_request_cancel(e, ev->id));
    c->n_done++;
    if (c->left == 0)
        return QUIRE_OK;
    c->left--;
    struct quire_request_params p = greedy(story, 3);
    p.event_callback = submit_next;
    p.event_user = c;
    quire_request_id id;
    return quire_engine_submit(e, &p, &id, NULL);
}

static void test_follow_up(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    ep.max_requests = ep.max_seqs = 1;
    for (int own_thread = 0; own_thread < 2; own_thread++) {
        struct quire_engine *e = open_with(&ep);
        struct chain c = { .left = 5 };
        struct quire_request_params p = greedy(story, 3);
        p.event_callback = submit_next;
        p.event_user = &c;
        if (own_thread)
            assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        (void)submit(e, &p);
        struct quire_event ev = { .struct_size = sizeof ev };
        assert_status(QUIRE_OK, quire_engine_wait(e, 0, -1, &ev, NULL));
        assert_int_equal(c.n_done, 6);
        quire_engine_close(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delivery),    cmocka_unit_test(test_cancel_by_status),
        cmocka_unit_test(test_failure),     cmocka_unit_test(test_cancel_other),
        cmocka_unit_test(test_answers),     cmocka_unit_test(test_calls),
        cmocka_unit_test(test_two_engines), cmocka_unit_test(test_follow_up),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
