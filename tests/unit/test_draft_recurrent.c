/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_recurrent.c - draft models with recurrent layers: the same tokens and logits as
 * without drafts in every schedule; states of the draft model after accepted and rejected drafts;
 * memory. */
#include "engine/draft_model.h"
#include "engine_jobs.h"

enum { N_JOBS = 40, N_SCHEDULES = 4 };

/* Attention with a recurrent draft; the model itself, whose drafts are accepted; a hybrid. */
static const struct {
    const char *model, *draft;
} pairs[] = {
    { "llama-q8_0.gguf", "../gguf_2026/mamba2-bf16.gguf" },
    { "../gguf_2026/mamba2-bf16.gguf", "../gguf_2026/mamba2-bf16.gguf" },
    { "../gguf_2026/lfm2-bf16.gguf", "../gguf_2026/lfm2-bf16.gguf" },
    { "../gguf_2026/lfm2-bf16.gguf", "../gguf_2026/qwen3_next-bf16.gguf" },
    { "../gguf_2026/qwen3_next-bf16.gguf", "llama-q8_0.gguf" },
    { "../gguf_2026/deepseek_v4-bf16.gguf", "../gguf_2026/deepseek_v4-bf16.gguf" },
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

static struct job alone[N_JOBS], together[N_JOBS];

/* Every slot of the draft model is free, or has a checkpoint. */
static void assert_no_slot_lost(const struct qr_draft_model *d)
{
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    uint32_t n_checkpoints = 0;
    if (!d->states)
        return;
    assert_status(QUIRE_OK, quire_state_pool_get_info(d->states, &info));
    for (uint32_t i = 0; i < info.n_slots; i++)
        n_checkpoints += d->memory.states.owner[i] != QR_PREFIX_NONE;
    assert_int_equal(info.n_free + n_checkpoints, info.n_slots);
}

static void run_schedule(size_t pair, uint32_t seed, uint64_t *n_drafted, uint64_t *n_accepted)
{
    uint32_t random = seed;
    const struct test_model m = { .gguf = pairs[pair].model };
    const struct setup s = { .threads = 1 + next_random(&random) % 3,
                             .step = 256,
                             .seqs = 8,
                             .block = 16u << next_random(&random) % 2,
                             .cache_tokens = seed % 2 ? 2 * JOB_CONTEXT : 0,
                             .draft = 16,
                             .draft_model = pairs[pair].draft };
    struct quire_engine *e = open_setup(&m, &s, N_JOBS);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        together[i].params.draft_tokens = 1 + i % 6;
        together[i].params.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
    }
    run_jobs(e, together, NULL, N_JOBS, seed);
    assert_same_jobs(alone, together, N_JOBS);
    assert_free(e);
    assert_int_equal(e->draft_model->n_requests, 0);
    assert_no_slot_lost(e->draft_model);
    *n_drafted += e->counters.model_drafted_tokens;
    *n_accepted += e->counters.model_accepted_tokens;
    quire_engine_close(e);
}

static void schedules(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < N_PAIRS; i++) {
        const struct test_model m = { .gguf = pairs[i].model };
        uint64_t n_drafted = 0, n_accepted = 0;
        make_jobs(alone, N_JOBS, 3);
        run_alone(&m, alone, N_JOBS);
        make_jobs(together, N_JOBS, 3);
        for (uint32_t k = 0; k < N_SCHEDULES; k++)
            run_schedule(i, 40 + k, &n_drafted, &n_accepted);
        print_message("%s, drafts of %s: %llu tokens, %llu accepted\n", pairs[i].model,
                      pairs[i].draft, (unsigned long long)n_drafted,
                      (unsigned long long)n_accepted);
        assert_true(n_drafted > 0);
        /* a state that missed a token, or had one too many, would draft others */
        if (strcmp(pairs[i].model, pairs[i].draft) == 0)
            assert_int_equal(n_accepted, n_drafted);
    }
}

/* The same model drafts all tokens right, also behind drafts that a hook made wrong. */
static quire_status reject(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; args->n_tokens % 5 == 0 && i < args->n_vocab; i++)
        args->logits[i] = i == 50 + args->n_tokens % 90 ? 10.0f : -10.0f;
    return QUIRE_OK;
}

static void rejected(void **state)
{
    (void)state;
    enum { N = 120 };
    static struct result expected, got;
    int32_t tokens[40];
    if (!need_shared())
        skip();
    for (int32_t i = 0; i < 40; i++)
        tokens[i] = 40 + i * 7 % 150;
    uint64_t n_rejected = 0; /* in step with the hook, none may be */
    for (size_t i = 1; i < 3; i++)
        for (uint32_t depth = 1; depth <= 8; depth++) {
            const struct test_model m = { .gguf = pairs[i].model };
            const struct setup s = { .threads = 2,
                                     .step = 256,
                                     .seqs = 2,
                                     .block = 16,
                                     .draft = 16,
                                     .draft_model = pairs[i].draft };
            struct quire_engine *e = open_setup(&m, &s, 2);
            struct quire_request_params p = greedy("", N);
            p.text = NULL;
            p.tokens = tokens;
            p.n_tokens = 40;
            p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
            p.logits_hook = reject;
            generate(e, &p, &expected);
            p.draft_tokens = depth;
            generate(e, &p, &got);
            assert_same(&expected, &got);
            /* of the tokens before one that the hook chose, all are accepted */
            const struct quire_engine_stats *c = &e->counters;
            n_rejected += c->model_drafted_tokens - c->model_accepted_tokens;
            assert_true(c->model_accepted_tokens >= N / 5);
            assert_no_slot_lost(e->draft_model);
            quire_engine_close(e);
        }
    assert_true(n_rejected > 0);
}

/* The states of the draft model are in the budget. */
static void memory(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    char draft[4200];
    snprintf(draft, sizeof draft, "%s/goldens/gguf/%s", shared_dir(), pairs[0].draft);
    struct quire_engine_params p = params_for(pairs[0].model);
    struct quire_engine_info info = { .struct_size = sizeof info };
    p.context_length = 64;
    p.max_seqs = 2;
    p.max_draft_tokens = 8;
    p.draft_model_path = draft;
    struct quire_engine *e = open_with(&p);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    struct quire_state_pool_info pool = { .struct_size = sizeof pool };
    assert_status(QUIRE_OK, quire_state_pool_get_info(e->draft_model->states, &pool));
    assert_int_equal(pool.n_slots, 2 * 2 + 16);
    assert_true(info.draft_kv_bytes == pool.total_bytes && !e->draft_model->kv);
    quire_engine_close(e);
    p.kv_bytes = 4 * pool.state_bytes - 1; /* no checkpoint, and a byte too few */
    struct quire_engine *none;
    assert_status(QUIRE_E_LIMIT, quire_engine_open(&p, &none, &err));
    assert_non_null(strstr(err.msg, "recurrent states"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),
        cmocka_unit_test(rejected),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
