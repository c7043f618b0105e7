/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_api.c - waiting, descriptors, the engine's own thread, draining, deadlines, hooks,
 * log-probabilities, echo, stop tokens; many submitting threads. */
#include "engine_requests.h"
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static struct quire_engine *open_small(uint32_t max_seqs)
{
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.context_length = 256;
    ep.max_seqs = max_seqs;
    ep.max_requests = 32;
    return open_with(&ep);
}

static void collect(struct quire_engine *e, quire_request_id id, struct result *r)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    r->size = r->n_tokens = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        assert_true(ev.kind != QUIRE_EVENT_NONE && ev.id == id);
        append_event(&ev, r);
    } while (ev.kind != QUIRE_EVENT_DONE);
    r->done = ev;
}

static void test_wait(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(4);
    const struct quire_request_params p = greedy(story, 10);
    struct result polled, a, b;
    generate(e, &p, &polled);
    const quire_request_id ids[] = { submit(e, &p), submit(e, &p) };
    collect(e, ids[1], &b); /* the other one's events stay */
    collect(e, ids[0], &a);
    assert_same(&polled, &a);
    assert_same(&polled, &b);
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_wait(e, 0, -1, &ev, NULL)); /* nothing to wait for */
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_status(QUIRE_OK, quire_engine_wait(e, ids[0], -1, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    (void)submit(e, &p);
    assert_status(QUIRE_OK, quire_engine_wait(e, 0, 0, &ev, NULL)); /* the time is over */
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_wait(e, 0, NAN, &ev, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_wait(e, 0, 0, NULL, NULL));
    quire_engine_close(e);
}

static bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1;
}

static void test_event_fd(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(4);
    int fd = 7, again;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_event_fd(e, NULL, NULL));
    assert_status(QUIRE_OK, quire_engine_event_fd(e, &fd, NULL));
    assert_status(QUIRE_OK, quire_engine_event_fd(e, &again, NULL));
    assert_int_equal(fd, again);
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL)); /* resets it */
    assert_false(readable(fd));
    const struct quire_request_params p = greedy(story, 3);
    (void)submit(e, &p);
    assert_false(readable(fd));
    assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_true(readable(fd));
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_TEXT);
    assert_true(readable(fd));
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_false(readable(fd));
    quire_engine_close(e);
}

/* ---- The engine's own thread */

enum { N_THREADS = 8, N_PER_THREAD = 6 };

struct client {
    struct quire_engine *engine;
    const struct result *expected; /* [N_PER_THREAD] */
    uint32_t number;
    bool ok;
};

static const char *const prompts[N_PER_THREAD] = {
    "Once upon a time", "The fox", "A lantern", "Hills and stars", "Old books", "Every night",
};

static bool run_client_request(const struct client *c, uint32_t i)
{
    struct quire_request_params p = greedy(prompts[i], 12);
    p.client = c->number;
    p.cache_salt = c->number % 2;
    p.flags = c->number % 3 ? 0 : QUIRE_REQUEST_ECHO;
    quire_request_id id;
    struct quire_event ev = { .struct_size = sizeof ev };
    while (quire_engine_submit(c->engine, &p, &id, NULL) == QUIRE_E_AGAIN)
        usleep(100);
    if (i == 3 && c->number % 2)
        (void)quire_request_cancel(c->engine, id);
    char text[1024];
    size_t size = 0;
    do {
        if (quire_engine_wait(c->engine, id, 60, &ev, NULL) != QUIRE_OK ||
            ev.kind == QUIRE_EVENT_NONE || size + ev.text_size >= sizeof text)
            return false;
        memcpy(text + size, ev.text, ev.text_size);
        size += ev.text_size;
    } while (ev.kind != QUIRE_EVENT_DONE);
    const struct result *expected = &c->expected[i];
    if (p.flags) /* the prompt comes first */
        return ev.reason == QUIRE_FINISH_CANCELLED ||
               (size > expected->size &&
                memcmp(text + size - expected->size, expected->text, expected->size) == 0);
    if (ev.reason == QUIRE_FINISH_CANCELLED)
        return memcmp(text, expected->text, size) == 0;
    return size == expected->size && memcmp(text, expected->text, size) == 0;
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    c->ok = true;
    for (uint32_t i = 0; i < N_PER_THREAD; i++)
        c->ok &= run_client_request(c, (i + c->number) % N_PER_THREAD);
    return NULL;
}

static quire_status record_mask(void *user, const struct quire_logits_args *args)
{
    (void)args;
    return pthread_sigmask(SIG_SETMASK, NULL, user) ? QUIRE_E_INTERNAL : QUIRE_OK;
}

/* The host's signal handlers do not run on the engine's thread, except for its own faults. */
static void check_signal_mask(struct quire_engine *e)
{
    struct quire_request_params p = greedy(story, 1);
    struct result r;
    sigset_t mask;
    p.logits_hook = record_mask;
    p.logits_hook_user = &mask;
    collect(e, submit(e, &p), &r);
    assert_true(sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM));
    assert_false(sigismember(&mask, SIGBUS) || sigismember(&mask, SIGSEGV));
}

static void test_own_thread(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result expected[N_PER_THREAD];
    struct quire_engine *e = open_small(6);
    for (uint32_t i = 0; i < N_PER_THREAD; i++) {
        const struct quire_request_params p = greedy(prompts[i], 12);
        generate(e, &p, &expected[i]);
    }
    assert_status(QUIRE_OK, quire_engine_start(e, NULL));
    assert_status(QUIRE_OK, quire_engine_start(e, NULL));
    assert_status(QUIRE_E_BUSY, quire_engine_step(e, NULL));
    check_signal_mask(e);
    struct client clients[N_THREADS];
    pthread_t threads[N_THREADS];
    for (uint32_t i = 0; i < N_THREADS; i++) {
        clients[i] = (struct client){ e, expected, i, false };
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(clients[i].ok);
    }
    assert_int_equal(quire_engine_active_count(e), 0);
    const struct quire_request_params p = greedy(story, 200);
    (void)submit(e, &p); /* closed while it runs */
    quire_engine_close(e);
}

static void test_drain(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int own_thread = 0; own_thread < 2; own_thread++) {
        struct quire_engine *e = open_small(2);
        struct quire_request_params p = greedy(story, 20);
        p.flags = QUIRE_REQUEST_IGNORE_EOS;
        struct result r;
        if (own_thread)
            assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        const quire_request_id id = submit(e, &p);
        p.max_tokens = 0;
        p.deadline = 1e6;
        const quire_request_id endless = submit(e, &p);
        assert_status(QUIRE_E_INVALID_ARG, quire_engine_drain(e, NAN, NULL));
        struct quire_event ev = { .struct_size = sizeof ev };
        if (!own_thread)
            for (int i = 0; i < 25; i++)
                assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        else
            collect(e, id, &r);
        assert_status(QUIRE_OK, quire_engine_drain(e, 0, NULL));
        assert_int_equal(quire_engine_active_count(e), 0);
        quire_request_id none;
        assert_status(QUIRE_E_CANCELLED, quire_engine_submit(e, &p, &none, NULL));
        if (!own_thread) {
            collect(e, id, &r);
            assert_int_equal(r.done.reason, QUIRE_FINISH_LENGTH);
        }
        do
            assert_status(QUIRE_OK, quire_engine_wait(e, endless, -1, &ev, NULL));
        while (ev.kind != QUIRE_EVENT_DONE);
        assert_true(ev.reason == QUIRE_FINISH_CANCELLED || ev.reason == QUIRE_FINISH_LENGTH);
        quire_engine_close(e);
    }
}

/* ---- Requests */

static void test_deadline(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(2);
    struct quire_request_params p = greedy(story, 0);
    p.deadline = 1e-9;
    struct result r;
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_DEADLINE);
    assert_string_equal(quire_finish_reason_name(r.done.reason), "deadline");
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    p.deadline = -1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    p.deadline = NAN;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "deadline"));
    quire_engine_close(e);
}

static void test_echo_and_logprobs(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(2);
    struct quire_request_params p = greedy(story, 8);
    p.flags = QUIRE_REQUEST_ECHO;
    p.n_logprobs = 3;
    struct result r;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    r.size = r.n_tokens = 0;
    uint32_t n = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        append_event(&ev, &r);
        for (size_t i = 0; i < ev.n_tokens; i++, n++) {
            const struct quire_token_logprob *l = ev.logprobs + i * ev.n_logprobs;
            assert_int_equal(ev.n_logprobs, 4);
            assert_int_equal(l->token, ev.tokens[i]);
            if (n < ev.usage->prompt_tokens) { /* test_engine_prompt_logprobs.c has the others */
                assert_true(isnan(l->logprob) == (n == 0));
                continue;
            }
            /* greedy: the sampled token is the most likely one */
            assert_int_equal(l[1].token, l[0].token);
            assert_true(l[0].logprob == l[1].logprob && l[1].logprob >= l[2].logprob);
            assert_true(l[2].logprob >= l[3].logprob && l[0].logprob < 0);
            assert_true(expf(l[1].logprob) + expf(l[2].logprob) + expf(l[3].logprob) <= 1.0001f);
        }
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_int_equal(memcmp(r.text, story, strlen(story)), 0);
    assert_int_equal(n, ev.usage->prompt_tokens + 8);
    p.n_logprobs = 21;
    quire_request_id none;
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &none, NULL));
    quire_engine_close(e);
}

static void test_stop_and_min_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(2);
    struct quire_request_params p = greedy(story, 20);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    struct result whole, cut;
    generate(e, &p, &whole);
    const int32_t stop = whole.tokens[5];
    uint32_t first = 0;
    while (whole.tokens[first] != stop)
        first++;
    p.stop_tokens = &stop;
    p.n_stop_tokens = 1;
    generate(e, &p, &cut);
    assert_int_equal(cut.done.reason, QUIRE_FINISH_STOP);
    assert_int_equal(cut.n_tokens, first);
    assert_memory_equal(cut.tokens, whole.tokens, first * sizeof(int32_t));
    p.min_tokens = 12;
    generate(e, &p, &cut);
    assert_true(cut.n_tokens >= 12);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_not_equal(cut.tokens[i], stop);
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    p.min_tokens = 21;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "min_tokens"));
    p.min_tokens = 0;
    const int32_t beyond = (int32_t)e->vocab_size;
    p.stop_tokens = &beyond;
    assert_status(QUIRE_E_RANGE, quire_engine_submit(e, &p, &id, &err));
    p.stop_tokens = NULL;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    p.n_stop_tokens = 65;
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, &err));
    p.n_stop_tokens = 0;
    p.reserved = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    p.reserved = 0;
    p.n = 129;
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, &err));
    p.n = 33; /* above max_requests */
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, &err));
    p.n = 3;
    p.best_of = 2;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    p.n = p.best_of = 0;
    p.tools_json = "[]";
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "tools_json"));
    assert_int_equal(e->n_free, e->n_requests);
    quire_engine_close(e);
}

static quire_status failing_hook(void *user, const struct quire_logits_args *args)
{
    const int *mode = user;
    if (args->n_tokens % 8)
        return QUIRE_OK;
    if (*mode == 0)
        return QUIRE_E_CANCELLED;
    args->logits[3] = NAN;
    return QUIRE_OK;
}

/* A hook that fails, or writes NaN, ends its own request and no other. */
static void test_bad_hooks(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small(3);
    const struct quire_request_params good = greedy(story, 20);
    struct result alone, results[2];
    generate(e, &good, &alone);
    for (int mode = 0; mode < 2; mode++) {
        struct quire_request_params bad = good;
        bad.flags = QUIRE_REQUEST_IGNORE_EOS;
        bad.logits_hook = failing_hook;
        bad.logits_hook_user = &mode;
        const quire_request_id ids[] = { submit(e, &bad), submit(e, &good) };
        run_to_completion(e, ids, 2, results);
        assert_int_equal(results[0].done.reason, QUIRE_FINISH_ERROR);
        assert_int_equal(results[0].done.status, mode ? QUIRE_E_NUMERIC : QUIRE_E_CANCELLED);
        assert_true(results[0].n_tokens < 8);
        assert_same(&alone, &results[1]);
    }
    quire_engine_close(e);
}

static void test_bad_params(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    const struct quire_engine_params good = ep;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
#define REFUSED(status, word)                                                                      \
    do {                                                                                           \
        assert_status(status, quire_engine_open(&ep, &e, &err));                                   \
        assert_non_null(strstr(err.msg, word));                                                    \
        ep = good;                                                                                 \
    } while (0)
    ep.max_seqs = 17;
    REFUSED(QUIRE_E_INVALID_ARG, "max_seqs 17 is above max_requests 16");
    ep.max_seqs = 9;
    ep.max_step_tokens = 8;
    REFUSED(QUIRE_E_INVALID_ARG, "max_step_tokens");
    ep.max_draft_tokens = 1025;
    REFUSED(QUIRE_E_INVALID_ARG, "max_draft_tokens");
    ep.target_itl = NAN;
    REFUSED(QUIRE_E_INVALID_ARG, "target_itl");
    ep.target_itl = -1;
    REFUSED(QUIRE_E_INVALID_ARG, "target_itl");
    ep.reserved = 1;
    REFUSED(QUIRE_E_INVALID_ARG, "params.reserved");
    ep.context_length = 256;
    ep.cache_tokens = 255;
    REFUSED(QUIRE_E_INVALID_ARG, "cache_tokens");
    ep.cache_tokens = 1000000;
    ep.kv_bytes = 1 << 20;
    ep.context_length = 64;
    REFUSED(QUIRE_E_LIMIT, "cache_tokens");
    ep.cache_tokens = UINT64_MAX;
    REFUSED(QUIRE_E_LIMIT, "cache_tokens");
#undef REFUSED
    ep.flags = QUIRE_ENGINE_DRY_RUN;
    e = open_with(&ep);
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_E_MISUSE, quire_engine_start(e, &err));
    assert_status(QUIRE_OK, quire_engine_wait(e, 5, -1, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_status(QUIRE_OK, quire_engine_drain(e, -1, &err));
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_get_stats(e, NULL));
    quire_engine_close(e);
}

/* A target latency makes chunks of prompts shorter, and changes no token. */
static void test_target_latency(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.target_itl = 1e-9; /* below every measured step: the shortest chunks */
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 60);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    static struct result results[2], alone;
    generate(e, &p, &alone);
    const quire_request_id first = submit(e, &p);
    for (int i = 0; i < 10; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    int32_t ids[200];
    for (int i = 0; i < 200; i++)
        ids[i] = 3 + i % 50;
    p.text = NULL;
    p.tokens = ids;
    p.n_tokens = 200;
    p.max_tokens = 1;
    const quire_request_id both[] = { first, submit(e, &p) };
    run_to_completion(e, both, 2, results);
    assert_same(&alone, &results[0]);
    assert_true(results[1].prompt_events >= 8); /* chunks of 16 tokens */
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_event_fd),
        cmocka_unit_test(test_own_thread),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_echo_and_logprobs),
        cmocka_unit_test(test_stop_and_min_tokens),
        cmocka_unit_test(test_bad_hooks),
        cmocka_unit_test(test_bad_params),
        cmocka_unit_test(test_target_latency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
