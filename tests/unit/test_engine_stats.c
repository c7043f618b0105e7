/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_stats.c - counters of the engine agree with the usage of its requests. */
#include "engine_requests.h"

static struct quire_engine_stats stats_of(struct quire_engine *e)
{
    struct quire_engine_stats s;
    quire_engine_stats_init(&s, sizeof s);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &s));
    return s;
}

static struct quire_request_params with_tokens(const int32_t *tokens, size_t n, uint32_t max_tokens)
{
    struct quire_request_params p = greedy("", max_tokens);
    p.text = NULL;
    p.tokens = tokens;
    p.n_tokens = n;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    return p;
}

static struct quire_engine *open_engine(uint32_t max_step_tokens)
{
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.block_size = 16;
    ep.context_length = 256;
    ep.max_step_tokens = max_step_tokens;
    ep.max_seqs = 4;
    return open_with(&ep);
}

static void fill(int32_t *tokens, size_t n, int32_t first)
{
    for (size_t i = 0; i < n; i++)
        tokens[i] = 10 + (int32_t)((i * 7 + (size_t)first * 31) % 80);
}

/* The second prompt arrives while the blocks of the first are computed, the third later; the
 * counters are the sums of what the requests report. */
static void test_cached_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_engine(256);
    int32_t tokens[100];
    fill(tokens, 100, 0);
    const struct quire_request_params p = with_tokens(tokens, 100, 4);
    const quire_request_id ids[] = { submit(e, &p), submit(e, &p) };
    struct result r[2], third;
    run_to_completion(e, ids, 2, r);
    generate(e, &p, &third);
    assert_int_equal(third.usage.cached_tokens, 99);
    const struct quire_engine_stats s = stats_of(e);
    const uint32_t cached = r[0].usage.cached_tokens + r[1].usage.cached_tokens + 99;
    assert_int_equal(s.cached_tokens, cached);
    assert_int_equal(s.prompt_tokens + s.cached_tokens, 300);
    assert_int_equal(s.completion_tokens, 12);
    quire_engine_close(e);
}

/* A prompt that runs behind an equal one takes over its blocks and reports them. */
static void test_cached_while_running(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_engine(56);
    int32_t tokens[2][100];
    fill(tokens[0], 100, 0);
    memcpy(tokens[1], tokens[0], sizeof tokens[0]);
    tokens[1][99]++;
    /* the first step computes the first prompt and one block of the second */
    struct quire_request_params p[] = { with_tokens(tokens[0], 40, 1),
                                        with_tokens(tokens[1], 100, 1) };
    const quire_request_id ids[] = { submit(e, &p[0]), submit(e, &p[1]) };
    struct result r[2];
    run_to_completion(e, ids, 2, r);
    assert_int_equal(r[1].usage.cached_tokens, 16); /* the second block of the first prompt */
    const struct quire_engine_stats s = stats_of(e);
    assert_int_equal(s.cached_tokens, 16);
    assert_int_equal(s.prompt_tokens, 124);
    quire_engine_close(e);
}

static void test_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_engine(256);
    int32_t tokens[40];
    fill(tokens, 40, 3);
    struct quire_request_params p = with_tokens(tokens, 40, 5);
    p.n = 3;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    uint32_t n_done = 0, completion = 0;
    for (int guard = 0; n_done < 3 && guard < 1000; guard++) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        n_done += ev.kind == QUIRE_EVENT_DONE;
        completion += ev.kind == QUIRE_EVENT_DONE ? ev.usage->completion_tokens : 0;
    }
    assert_int_equal(completion, 15);
    assert_int_equal(stats_of(e).completion_tokens, 15);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cached_tokens),
        cmocka_unit_test(test_cached_while_running),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
