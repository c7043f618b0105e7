/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_batch.c - many requests at once: each gives the tokens and the logits, bit for bit,
 * that it gives alone, whatever the schedule. */
#include "engine_jobs.h"

enum { N_REQUESTS = 24 };

/* Runs the jobs in one schedule, twice, the second time with a warm prefix cache. Returns how often
 * tasks were preempted. */
static uint64_t compare_schedule(const struct test_model *m, const struct setup *s,
                                 const struct job *alone, uint32_t seed, uint32_t schedule)
{
    static struct job together[N_REQUESTS];
    struct quire_engine *e = open_setup(m, s, N_REQUESTS);
    make_jobs(together, N_REQUESTS, seed);
    for (int i = 0; i < N_REQUESTS; i++) {
        together[i].params.draft_tokens = s->draft;
        if (s->draft_model) /* drafts in every step, in particular bad ones */
            together[i].params.flags |= QUIRE_REQUEST_FIXED_DRAFT;
    }
    for (uint32_t round = 0; round < 2; round++) {
        run_jobs(e, together, NULL, N_REQUESTS, schedule * 10 + round);
        assert_same_jobs(alone, together, N_REQUESTS);
        assert_free(e);
    }
    const uint64_t n = count_preemptions(e);
    quire_engine_close(e);
    return n;
}

static void check_same_bits(const struct test_model *m, uint32_t seed)
{
    static const struct setup setups[] = {
        { 1, 256, 8, 64, 0, 0, 0, NULL, 0 },
        { 2, 64, 8, 16, 0, 0, 0, NULL, 0 },
        { 3, 16, 4, 32, 0, 0, 0, NULL, 0 },
        { 2, 256, 8, 16, 0, 256, 0, NULL, 0 },
        { 1, 24, 16, 16, 0, 288, 0, NULL, 0 },
        { 2, 64, 6, 16, 7, 512, 0, NULL, 0 },
        { 1, 256, 24, 64, 31, 0, 0, NULL, 0 },
        { 2, 64, 6, 16, 7, 512, 0, "llama-bf16.gguf", 0 },
        { 1, 256, 8, 32, 24, 288, 0, "gemma2_q32-q8_0.gguf", 0 },
        { 3, 24, 16, 64, 5, 0, 0, "phi3-bf16.gguf", 0 },
    };
    static struct job alone[N_REQUESTS];
    make_jobs(alone, N_REQUESTS, seed);
    run_alone(m, alone, N_REQUESTS);
    uint64_t n_preempted = 0;
    for (uint32_t i = 0; i < sizeof setups / sizeof *setups; i++)
        n_preempted += compare_schedule(m, &setups[i], alone, seed, i);
    assert_true(n_preempted > 0);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const char *const models[] = { "llama-q8_0.gguf", "gemma2_q32-q8_0.gguf",
                                          "phi3-bf16.gguf", "../gguf_2026/gemma4_text-bf16.gguf" };
    if (!need_shared())
        skip();
    for (uint32_t i = 0; i < 4; i++)
        check_same_bits(&(struct test_model){ .gguf = models[i] }, i + 1);
}

/* After a preemption the keys of generated tokens are recomputed one by one. */
static void test_dynamic_rope(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct test_model m;
    open_dynamic_ntk(&m);
    check_same_bits(&m, 5);
    close_dynamic_ntk(&m);
}

/* Makes the answer repeat seven tokens, with the model's logits for nothing but their hash. */
static quire_status repeat(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = i == 20 + args->n_tokens % 7 ? 10.0f : -10.0f;
    return QUIRE_OK;
}

/* Repetitive text: drafts are accepted, several tokens come from one step. */
static void test_drafts(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct test_model m = { .gguf = "llama-q8_0.gguf" };
    const struct setup with_draft = { 1, 256, 1, 64, 16, 0, 0, NULL, 0 };
    struct quire_engine *e = open_setup(&m, &with_draft, N_REQUESTS);
    struct quire_request_params p = greedy(story, 120);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.logits_hook = repeat;
    struct result plain, drafted;
    generate(e, &p, &plain);
    struct quire_engine_stats before = { .struct_size = sizeof before }, after = before;
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &before));
    p.draft_tokens = 16;
    generate(e, &p, &drafted);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &after));
    assert_same(&plain, &drafted);
    assert_true(after.n_steps - before.n_steps < 60);
    p.draft_tokens = 17;
    quire_request_id id;
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, NULL));
    quire_engine_close(e);
}

/* With one place, a request of higher priority takes it from the running one, in the draft model
 * too. */
static void test_draft_after_preemption(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct test_model m = { .gguf = "llama-q8_0.gguf" };
    const struct setup one_place = { 1, 256, 1, 64, 4, 0, 0, "llama-bf16.gguf", 0 };
    struct quire_engine *e = open_setup(&m, &one_place, N_REQUESTS);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1;
    struct quire_request_params p = greedy(story, 60);
    p.sampling = &sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
    p.draft_tokens = 4;
    struct quire_engine_stats before = { .struct_size = sizeof before }, after = before;
    static struct result preempted, plain;
    const quire_request_id low = submit(e, &p);
    do {
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_status(QUIRE_OK, quire_engine_get_stats(e, &before));
    } while (before.model_drafted_tokens == 0);
    p.priority = 1;
    p.max_tokens = 20;
    const quire_request_id high = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    do
        assert_status(QUIRE_OK, quire_engine_wait(e, high, -1, &ev, NULL));
    while (ev.kind != QUIRE_EVENT_DONE);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &after));
    assert_int_equal(after.n_preemptions, 1);
    assert_true(after.model_drafted_tokens > before.model_drafted_tokens);
    run_one(e, low, &preempted);
    p.draft_tokens = 0;
    p.max_tokens = 60;
    generate(e, &p, &plain);
    assert_same(&plain, &preempted);
    assert_free(e);
    quire_engine_close(e);
}

/* ---- Several answers */

static void run_answers(struct quire_engine *e, const struct quire_request_params *p,
                        struct result *results, uint32_t n)
{
    const quire_request_id id = submit(e, p);
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t i = 0; i < n; i++)
        results[i].size = results[i].n_tokens = 0;
    for (uint32_t left = n; left;) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        assert_true(ev.kind != QUIRE_EVENT_NONE && ev.id == id && ev.choice < n);
        append_event(&ev, &results[ev.choice]);
        if (ev.kind == QUIRE_EVENT_DONE) {
            results[ev.choice].done = ev;
            left--;
        }
    }
    assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_free(e);
}

/* Answer i of a request is the answer to the prompt with stream + i; with few sequences the answers
 * come one after the other. */
static void test_choices(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 6 };
    static struct result all[N], one;
    for (uint32_t seqs = 1; seqs <= 9; seqs += 4) {
        const struct test_model m = { .gguf = "gemma2_q32-q8_0.gguf" };
        const struct setup s = { 1, 256, seqs, 16, 0, 0, 0, NULL, 0 };
        struct quire_engine *e = open_setup(&m, &s, N_REQUESTS);
        struct quire_sampling_params sampling;
        quire_sampling_params_init(&sampling, sizeof sampling);
        sampling.temperature = 1;
        struct quire_request_params p = greedy(story, 25);
        p.sampling = &sampling;
        p.n = N;
        p.stream = 3;
        run_answers(e, &p, all, N);
        p.n = 0;
        for (uint32_t i = 0; i < N; i++) {
            p.stream = 3 + i;
            p.flags = QUIRE_REQUEST_NO_REUSE;
            generate(e, &p, &one);
            assert_same(&one, &all[i]);
        }
        quire_engine_close(e);
    }
}

static double mean_logprob(const struct quire_request_params *base, struct quire_engine *e,
                           uint32_t stream, struct result *r)
{
    struct quire_request_params p = *base;
    p.n = p.best_of = 0;
    p.stream = stream;
    p.flags |= QUIRE_REQUEST_LOGPROBS;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    double sum = 0;
    uint32_t n = 0;
    r->size = r->n_tokens = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        append_event(&ev, r);
        for (size_t i = 0; i < ev.n_tokens; i++, n++)
            sum += ev.logprobs[i].logprob;
    } while (ev.kind != QUIRE_EVENT_DONE);
    return sum / n;
}

/* The best answers by mean log-probability, best first. */
static void test_best_of(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 2, OF = 5 };
    static struct result best[N], each[OF];
    const struct test_model m = { .gguf = "llama-q8_0.gguf" };
    const struct setup s = { 1, 256, 3, 16, 0, 0, 0, NULL, 0 };
    struct quire_engine *e = open_setup(&m, &s, N_REQUESTS);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1.5f;
    struct quire_request_params p = greedy(story, 12);
    p.sampling = &sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.n = N;
    p.best_of = OF;
    run_answers(e, &p, best, N);
    double mean[OF];
    for (uint32_t i = 0; i < OF; i++)
        mean[i] = mean_logprob(&p, e, i, &each[i]);
    for (uint32_t rank = 0; rank < N; rank++) {
        uint32_t top = 0;
        for (uint32_t i = 1; i < OF; i++)
            top = mean[i] > mean[top] ? i : top;
        assert_int_equal(best[rank].n_tokens, each[top].n_tokens);
        assert_memory_equal(best[rank].tokens, each[top].tokens, 12 * sizeof(int32_t));
        mean[top] = -1e9;
    }
    /* cancelled: all end, and the slots are free again */
    const quire_request_id id = submit(e, &p);
    assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_status(QUIRE_OK, quire_request_cancel(e, id));
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t done = 0; done < N; done += ev.kind == QUIRE_EVENT_DONE)
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
    assert_int_equal(ev.reason, QUIRE_FINISH_CANCELLED);
    assert_int_equal(e->n_free, e->n_requests);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_dynamic_rope),
        cmocka_unit_test(test_drafts),    cmocka_unit_test(test_choices),
        cmocka_unit_test(test_best_of),   cmocka_unit_test(test_draft_after_preemption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
