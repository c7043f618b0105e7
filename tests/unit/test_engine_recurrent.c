/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_recurrent.c - models with recurrent layers in the engine: the same tokens and logits,
 * bit for bit, in every schedule; states of forks; checkpoints in the prefix cache; errors. */
#include "engine/prefix_check.h"
#include "engine_jobs.h"
#include "test_dir.h"

enum { N_JOBS = 60, N_SCHEDULES = 8, N_THREADS = 3, BLOCK = 16 };

/* Convolutions and attention; recurrent layers only; Mamba-2, attention and experts; delta nets;
 * RG-LRU and windows, and attention with convolutions, windows and experts, both folders;
 * compressed keys; delta nets, n-grams and compressed index keys, a folder. */
static const char *const models[] = {
    "../gguf_2026/lfm2-bf16.gguf",
    "../gguf_2026/mamba2-bf16.gguf",
    "../gguf_2026/granitemoehybrid-bf16.gguf",
    "../gguf_2026/qwen3_next-bf16.gguf",
    "recurrent_gemma",
    "zaya",
    "../gguf_2026/deepseek_v4-bf16.gguf",
    "qwen4_exp",
};
static const char *const hybrid = "../gguf_2026/lfm2-bf16.gguf";
static const char *const delta_net = "../gguf_2026/qwen3_next-bf16.gguf";
static const char *const without_attention = "../gguf_2026/mamba2-bf16.gguf";
static const uint32_t chunks[] = { 1, 7, 16, 64, 512 /* whole prompts */ };
enum { N_MODELS = sizeof models / sizeof models[0], N_CHUNKS = sizeof chunks / sizeof chunks[0] };

static struct job alone[N_JOBS], together[N_JOBS];

/* Every slot is free or has a checkpoint. */
static void assert_no_slot_lost(const struct quire_engine *e)
{
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    uint32_t n_checkpoints = 0;
    assert_status(QUIRE_OK, quire_state_pool_get_info(e->states, &info));
    for (uint32_t i = 0; i < info.n_slots; i++)
        n_checkpoints += e->memory.states.owner[i] != QR_PREFIX_NONE;
    assert_int_equal(info.n_free + n_checkpoints, info.n_slots);
}

/* ---- Schedules */

struct coverage {
    uint64_t n_taken, n_preempted, n_accepted, n_rejected;
};

/* Half of the answers repeat tokens, so that drafts are accepted. */
static void make_model_jobs(struct job *jobs)
{
    make_jobs(jobs, N_JOBS, 31);
    for (uint32_t i = 0; i < N_JOBS; i += 2)
        jobs[i].repeats = true;
}

static void run_schedule(const struct test_model *m, uint32_t seed, struct coverage *seen)
{
    uint32_t random = seed;
    const struct setup s = { .threads = 1 + next_random(&random) % N_THREADS,
                             .step = 256,
                             .seqs = 8,
                             .block = 16u << next_random(&random) % 2,
                             .cache_tokens = seed % 2 ? JOB_CONTEXT + 64 : 0,
                             .chunk = chunks[seed % N_CHUNKS],
                             .draft = next_random(&random) % 2 ? 16 : 0 };
    const bool hits = next_random(&random) % 4 > 0;
    struct quire_engine *e = open_setup(m, &s, N_JOBS);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        together[i].params.flags = QUIRE_REQUEST_IGNORE_EOS | (hits ? 0 : QUIRE_REQUEST_NO_REUSE);
        together[i].params.draft_tokens = s.draft ? 6 : 0;
    }
    seen->n_accepted += run_jobs(e, together, NULL, N_JOBS, seed);
    assert_same_jobs(alone, together, N_JOBS);
    assert_free(e);
    assert_no_slot_lost(e);
    seen->n_taken += e->memory.states.n_taken;
    seen->n_preempted += count_preemptions(e);
    seen->n_rejected += e->counters.lookup_drafted_tokens - e->counters.lookup_accepted_tokens;
    quire_engine_close(e);
}

/* flags: QUIRE_ENGINE_*. Adds to the drafts of all models: how many a model has depends on measured
 * times, too. */
static void check_schedules(const char *model, uint32_t flags, struct coverage *drafts)
{
    struct test_model m;
    open_tested(&m, model, hybrid);
    m.flags = flags;
    struct coverage seen = { 0 };
    make_model_jobs(alone);
    run_alone(&m, alone, N_JOBS);
    make_model_jobs(together);
    for (uint32_t k = 0; k < (takes_sample() ? 4 : N_SCHEDULES); k++)
        run_schedule(&m, 100 + k, &seen);
    print_message("%s: %llu checkpoints used, %llu preemptions, %llu draft tokens accepted, "
                  "%llu rejected\n",
                  model, (unsigned long long)seen.n_taken, (unsigned long long)seen.n_preempted,
                  (unsigned long long)seen.n_accepted, (unsigned long long)seen.n_rejected);
    assert_true(seen.n_taken > 0 && seen.n_preempted > 0);
    drafts->n_accepted += seen.n_accepted;
    drafts->n_rejected += seen.n_rejected;
    close_tested(&m);
}

static void schedules(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct coverage drafts = { 0 };
    for (size_t i = 0; i < N_MODELS; i++)
        check_schedules(models[i], 0, &drafts);
    check_schedules(delta_net, QUIRE_ENGINE_BF16_STATES, &drafts);
    assert_true(drafts.n_accepted > 0 && drafts.n_rejected > 0);
}

/* ---- Checkpoints */

static struct quire_engine *open_states(const char *model, uint64_t kv_bytes)
{
    struct quire_engine_params p = params_for(model);
    p.context_length = JOB_CONTEXT;
    p.block_size = BLOCK;
    p.max_seqs = 4;
    p.kv_bytes = kv_bytes;
    return open_with(&p);
}

static struct quire_request_params prompt(const int32_t *tokens, size_t n)
{
    struct quire_request_params p = greedy("", 12);
    p.text = NULL;
    p.tokens = tokens;
    p.n_tokens = n;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    return p;
}

static void fill_tokens(int32_t *tokens, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = 40 + (int32_t)(i * 7 + i / 5) % 150;
}

/* The next turn of a conversation continues behind the last token that was computed; the same
 * prompt, or one that parts from it, behind the last whole block of what is equal. */
static void check_prefix_hits(const char *model)
{
    enum { PROMPT = 70 };
    int32_t tokens[128];
    static struct result first, again, other;
    struct quire_engine *e = open_states(model, 0);
    fill_tokens(tokens, PROMPT);
    struct quire_request_params p = prompt(tokens, PROMPT);
    generate(e, &p, &first);
    assert_int_equal(first.usage.cached_tokens, 0);
    generate(e, &p, &again);
    assert_int_equal(again.usage.cached_tokens, PROMPT / BLOCK * BLOCK);
    assert_same(&first, &again);
    /* the next turn: prompt, answer, and two tokens */
    memcpy(tokens + PROMPT, first.tokens, first.n_tokens * sizeof(int32_t));
    const uint32_t n = PROMPT + (uint32_t)first.n_tokens;
    tokens[n] = 50;
    tokens[n + 1] = 51;
    p = prompt(tokens, n + 2);
    generate(e, &p, &again);
    assert_int_equal(again.usage.cached_tokens, n - 1); /* the last token was never computed */
    p.flags |= QUIRE_REQUEST_NO_REUSE;
    generate(e, &p, &other);
    assert_same(&again, &other);
    /* parts in the middle of a block, behind a chunk of one step that ended with a block */
    tokens[PROMPT - 2] = 60;
    p = prompt(tokens, PROMPT);
    generate(e, &p, &again);
    assert_int_equal(again.usage.cached_tokens, PROMPT / BLOCK * BLOCK);
    p.flags |= QUIRE_REQUEST_NO_REUSE;
    generate(e, &p, &other);
    assert_same(&again, &other);
    assert_no_slot_lost(e);
    quire_engine_close(e);
}

static void prefix_hits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < N_MODELS; i++)
        if (strstr(models[i], ".gguf")) /* a folder has no tokenizer of its own */
            check_prefix_hits(models[i]);
}

/* More prefixes than checkpoints: the one used the longest ago goes, and results stay the same. */
static void check_few_checkpoints(const char *model)
{
    enum { PROMPT = 40, N = 12 };
    int32_t tokens[PROMPT];
    static struct result expected[N], got;
    struct quire_engine *e = open_states(model, 0);
    struct quire_engine_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    const uint64_t one = info.state_bytes / (info.max_seqs + info.n_state_checkpoints);
    assert_int_equal(info.n_state_checkpoints, 64);
    quire_engine_close(e);
    e = open_states(model, 8 * 3 * (one + 1) + 400000);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    assert_in_range(info.n_state_checkpoints, 1, 63);
    assert_true(info.state_bytes <= info.kv_bytes && info.kv_bytes <= info.kv_budget);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            fill_tokens(tokens, PROMPT);
            tokens[0] = 30 + i;
            const struct quire_request_params p = prompt(tokens, PROMPT);
            generate(e, &p, round ? &got : &expected[i]);
            if (round)
                assert_same(&expected[i], &got);
        }
    assert_no_slot_lost(e);
    quire_engine_close(e);
}

static void few_checkpoints(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_few_checkpoints(hybrid);
}

/* Nodes without blocks are few too: the least recently used leaf goes. */
static void few_nodes(void **state)
{
    (void)state;
    enum { PROMPT = 40, N = 40 };
    int32_t tokens[PROMPT];
    static struct result expected[N], got;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for(without_attention);
    ep.context_length = 64;
    ep.cache_tokens = 64;
    ep.block_size = BLOCK;
    ep.max_seqs = 2;
    struct quire_engine *e = open_with(&ep);
    assert_null(e->kv);
    uint64_t n_cached = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            fill_tokens(tokens, PROMPT);
            tokens[0] = 30 + i;
            struct quire_request_params p = prompt(tokens, PROMPT);
            p.cache_salt = (uint64_t)i % 3;
            generate(e, &p, round ? &got : &expected[i]);
            assert_null(qr_prefix_index_check(e->memory.index));
            if (round)
                assert_same(&expected[i], &got);
            generate(e, &p, &got); /* at once: behind the last whole block */
            assert_same(&expected[i], &got);
            n_cached += got.usage.cached_tokens;
        }
    assert_int_equal(n_cached, 2 * N * (PROMPT / BLOCK * BLOCK));
    assert_no_slot_lost(e);
    quire_engine_close(e);
    struct quire_error err = QUIRE_ERROR_INIT;
    ep.block_size = 24;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "block_size"));
}

/* Answers that fork from one prompt have states of their own, also as beams. */
static void forks(void **state)
{
    (void)state;
    int32_t tokens[50];
    quire_request_id id;
    struct quire_sampling_params sampling;
    if (!need_shared())
        skip();
    fill_tokens(tokens, 50);
    for (size_t i = 0; i < N_MODELS; i++) {
        struct test_model m;
        char text[2][3][512] = { { "" } };
        open_tested(&m, models[i], hybrid);
        for (int run = 0; run < 2; run++) { /* with one sequence at a time, and together */
            struct quire_engine_params ep = params_for(m.gguf);
            ep.model = m.model;
            ep.tokenizer = m.tokenizer;
            ep.model_path = m.model ? NULL : ep.model_path;
            ep.max_seqs = run ? 4 : 1;
            ep.context_length = JOB_CONTEXT;
            struct quire_engine *e = open_with(&ep);
            struct quire_request_params p = prompt(tokens, 50);
            quire_sampling_params_init(&sampling, sizeof sampling);
            sampling.temperature = 1;
            sampling.seed = 5;
            p.sampling = &sampling;
            p.n = 3;
            id = submit(e, &p);
            struct quire_event ev = { .struct_size = sizeof ev };
            for (int left = 3; left;) {
                assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
                strncat(text[run][ev.choice], ev.text, ev.text_size);
                left -= ev.kind == QUIRE_EVENT_DONE;
            }
            assert_no_slot_lost(e);
            quire_engine_close(e);
        }
        for (int k = 0; k < 3; k++)
            assert_string_equal(text[0][k], text[1][k]);
        assert_string_not_equal(text[0][0], text[0][1]);
        close_tested(&m);
    }
}

/* ---- Errors */

static void refused(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    if (!need_shared())
        skip();
    struct quire_engine_params p = params_for(hybrid);
    p.kv_bytes = 1000;
    assert_status(QUIRE_E_LIMIT, quire_engine_open(&p, &e, &err));
    assert_non_null(strstr(err.msg, "kv_bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),       cmocka_unit_test(prefix_hits),
        cmocka_unit_test(few_checkpoints), cmocka_unit_test(few_nodes),
        cmocka_unit_test(forks),           cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
