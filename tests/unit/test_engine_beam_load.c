/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_beam_load.c - beam searches among other requests, on small pools; cancelled and
 * overdue ones; requests that are refused. */
#include "beam_requests.h"
#include <math.h>

/* Cancelled and overdue searches return what they have; before the first token, nothing. */
static void test_early_end(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result answers[4];
    struct quire_engine *e = open_small("llama-q8_0.gguf", 4);
    fill_prompt(5);
    struct quire_request_params p = search(4, 40);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    for (uint32_t steps = 0; steps < 8; steps += 7) {
        const quire_request_id id = submit(e, &p);
        for (uint32_t i = 0; i < steps; i++)
            assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_status(QUIRE_OK, quire_request_cancel(e, id));
        take_answers(e, id, answers, 4);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(answers[i].done.reason, QUIRE_FINISH_CANCELLED);
            assert_int_equal(answers[i].n_tokens, steps);
        }
        assert_all_free(e);
    }
    p.deadline = 1e-9;
    run_search(e, &p, answers);
    assert_int_equal(answers[3].done.reason, QUIRE_FINISH_DEADLINE);
    /* closed with a search under way */
    p.deadline = 0;
    (void)submit(e, &p);
    for (uint32_t i = 0; i < 3; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    quire_engine_close(e);
}

/* ---- Load */

enum { N_LOAD = 14 };

/* Searches and other requests of different priorities together. Returns the number of
 * preemptions. */
static uint64_t run_load(struct quire_engine *e, const struct result *alone,
                         const struct quire_request_params *p, uint32_t seed)
{
    static struct result got[N_LOAD][MAX_WIDTH];
    quire_request_id ids[N_LOAD] = { 0 };
    struct quire_event ev = { .struct_size = sizeof ev };
    uint32_t submitted = 0, random = seed;
    memset(got, 0, sizeof got);
    for (uint32_t guard = 0; submitted < N_LOAD || quire_engine_active_count(e); guard++) {
        assert_true(guard < 20000);
        random = random * 1664525u + 1013904223u;
        if (submitted < N_LOAD && random >> 30 == 0) {
            struct quire_request_params q = p[submitted];
            q.priority = (int32_t)((random >> 20) % 3);
            q.client = (random >> 10) % 2;
            ids[submitted++] = submit(e, &q);
        }
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    }
    while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
        uint32_t i = 0;
        while (ids[i] != ev.id)
            i++;
        append_event(&ev, &got[i][ev.choice]);
        got[i][ev.choice].done = ev;
    }
    for (uint32_t i = 0; i < N_LOAD; i++)
        for (uint32_t k = 0; k < (p[i].n ? p[i].n : 1); k++) {
            const struct result *a = &alone[i * MAX_WIDTH + k];
            assert_same(a, &got[i][k]);
            assert_true(a->done.cumulative_logprob == got[i][k].done.cumulative_logprob);
        }
    assert_all_free(e);
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    return stats.n_preemptions;
}

static void check_load(const char *model)
{
    static const struct {
        uint32_t threads, step, seqs;
        uint64_t cache_tokens;
    } setups[] = { { 1, 256, 16, 0 }, { 2, 16, 8, 0 },   { 1, 8, 8, 288 },
                   { 2, 16, 8, 288 }, { 1, 32, 9, 320 }, { 1, 8, 8, 400 } };
    static struct result alone[N_LOAD * MAX_WIDTH];
    static int32_t prompts[N_LOAD][PROMPT];
    static int32_t stop_tokens[30];
    struct quire_request_params p[N_LOAD];
    uint64_t n_preempted = 0;
    for (int32_t i = 0; i < 30; i++)
        stop_tokens[i] = 5 + 9 * i;
    struct quire_engine *e = open_small(model, MAX_WIDTH);
    for (uint32_t i = 0; i < N_LOAD; i++) {
        fill_prompt(i / 2); /* pairs share a prompt */
        memcpy(prompts[i], prompt, sizeof prompt);
        p[i] = search(i % 3 ? 2 + i % 6 : 0, 6 + i);
        p[i].tokens = prompts[i];
        p[i].n = p[i].beam_width ? 1 + i % p[i].beam_width : 1;
        p[i].stop_tokens = stop_tokens;
        p[i].n_stop_tokens = 30;
        p[i].min_tokens = i % 6;
        p[i].early_stopping = p[i].beam_width ? QUIRE_BEAM_STOP_NEVER : QUIRE_BEAM_STOP_HEURISTIC;
        run_search(e, &p[i], &alone[i * MAX_WIDTH]);
    }
    quire_engine_close(e);
    for (uint32_t s = 0; s < sizeof setups / sizeof *setups; s++) {
        struct quire_engine_params ep = params_for(model);
        ep.context_length = 128;
        ep.block_size = 16;
        ep.max_requests = 128;
        ep.n_threads = setups[s].threads;
        ep.max_step_tokens = setups[s].step;
        ep.max_seqs = setups[s].seqs;
        ep.cache_tokens = setups[s].cache_tokens;
        e = open_with(&ep);
        for (uint32_t seed = 1; seed <= 3; seed++)
            n_preempted += run_load(e, alone, p, seed);
        quire_engine_close(e);
    }
    assert_true(n_preempted > 20);
}

static void test_load(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_load("llama-q8_0.gguf");
    check_load("gemma2_q32-q8_0.gguf");
}

/* ---- Arguments */

static void assert_refused(struct quire_engine *e, const struct quire_request_params *p,
                           quire_status status, const char *field)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id = 1;
    assert_status(status, quire_engine_submit(e, p, &id, &err));
    assert_int_equal(id, 0);
    if (!strstr(err.msg, field))
        fail_msg("%s, without %s", err.msg, field);
}

#define BAD(field_, value_, status_, name_)                                                        \
    do {                                                                                           \
        struct quire_request_params bad = good;                                                    \
        bad.field_ = value_;                                                                       \
        assert_refused(e, &bad, status_, name_);                                                   \
    } while (0)

static void test_bad_requests(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small("llama-q8_0.gguf", 6);
    e->info.max_draft_tokens = 4; /* else draft_tokens is refused before */
    fill_prompt(1);
    struct quire_request_params good = search(4, 5);
    good.n = 2;
    BAD(beam_width, 1, QUIRE_E_INVALID_ARG, "beam_width");
    BAD(beam_width, 33, QUIRE_E_INVALID_ARG, "beam_width");
    BAD(beam_width, 7, QUIRE_E_LIMIT, "beam_width");
    BAD(n, 5, QUIRE_E_INVALID_ARG, "n 5");
    BAD(best_of, 4, QUIRE_E_INVALID_ARG, "best_of");
    BAD(draft_tokens, 2, QUIRE_E_INVALID_ARG, "draft_tokens");
    BAD(length_penalty, (double)NAN, QUIRE_E_INVALID_ARG, "length_penalty");
    BAD(length_penalty, (double)INFINITY, QUIRE_E_INVALID_ARG, "length_penalty");
    BAD(early_stopping, (enum quire_beam_stopping)3, QUIRE_E_INVALID_ARG, "early_stopping");
    struct quire_request_params no_tokens = good;
    no_tokens.max_tokens = 0;
    no_tokens.n = 0;
    no_tokens.flags = QUIRE_REQUEST_PROMPT_ONLY;
    assert_refused(e, &no_tokens, QUIRE_E_INVALID_ARG, "PROMPT_ONLY");
    quire_engine_close(e);
    /* too small a cache; the same request with less output fits */
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.context_length = 256;
    ep.cache_tokens = 256;
    ep.block_size = 16;
    ep.max_step_tokens = 16;
    e = open_with(&ep);
    good.max_tokens = 100;
    assert_refused(e, &good, QUIRE_E_LIMIT, "beam_width");
    static struct result answers[2];
    good.max_tokens = 20;
    run_search(e, &good, answers);
    quire_engine_close(e);
}

static void test_bad_sampling(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_small("llama-q8_0.gguf", 6);
    fill_prompt(1);
    struct quire_request_params p = search(4, 5);
    struct quire_sampling_params s, good;
    quire_sampling_params_init(&good, sizeof good);
    static struct result answers[4], same[4];
    run_search(e, &p, answers); /* greedy_sampling */
    p.sampling = &good;
    run_search(e, &p, same);
    assert_same(&answers[3], &same[3]);
    p.sampling = &s;
#define BAD_SAMPLING(field_, value_)                                                               \
    do {                                                                                           \
        s = good;                                                                                  \
        s.field_ = value_;                                                                         \
        assert_refused(e, &p, QUIRE_E_INVALID_ARG, "sampling." #field_);                           \
    } while (0)
    BAD_SAMPLING(temperature, 0.5f);
    BAD_SAMPLING(top_k, 7);
    BAD_SAMPLING(top_p, 0.5f);
    BAD_SAMPLING(min_p, 0.5f);
    BAD_SAMPLING(typical_p, 0.5f);
    BAD_SAMPLING(top_n_sigma, 1);
    BAD_SAMPLING(xtc_probability, 1);
    BAD_SAMPLING(dynatemp_range, 0.5f);
    BAD_SAMPLING(mirostat, 2);
    s = good;
    s.samplers[0] = QUIRE_SAMPLER_TOP_K;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "sampling.samplers");
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_end),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_bad_sampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
