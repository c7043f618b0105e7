/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_model.c - speculative decoding with a draft model: the same answers in fewer steps,
 * whatever becomes of the drafts. */
#include "engine/draft_model.h"
#include "engine_requests.h"
#include <math.h>

/* The reference models have one vocabulary. */
static const char target[] = "llama-q8_0.gguf";
static const char rounded[] = "llama-bf16.gguf";    /* the same weights, less rounded */
static const char other[] = "gemma2_q32-q8_0.gguf"; /* sliding windows */

static struct quire_engine_params draft_params(const char *model, const char *draft)
{
    static char path[4200];
    struct quire_engine_params p = params_for(model);
    snprintf(path, sizeof path, "%s/goldens/gguf/%s", shared_dir(), draft);
    p.draft_model_path = path;
    p.context_length = 256;
    p.max_draft_tokens = 64;
    p.target_itl = INFINITY; /* chunks do not depend on measured times */
    return p;
}

static struct quire_engine_stats stats_of(struct quire_engine *e)
{
    struct quire_engine_stats s;
    quire_engine_stats_init(&s, sizeof s);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &s));
    return s;
}

static void assert_all_free(struct quire_engine *e)
{
    const struct qr_sequence_memory *memories[] = { &e->memory, &e->draft_model->memory };
    for (int i = 0; i < 2; i++)
        for (uint32_t g = 0; g < memories[i]->n_groups; g++) {
            struct quire_kv_group_config config;
            assert_status(QUIRE_OK, quire_kv_get_group(memories[i]->kv, g, &config, NULL));
            assert_int_equal(qr_sequence_blocks_available(memories[i], g), config.n_blocks);
        }
    assert_int_equal(e->draft_model->n_requests, 0);
    assert_int_equal(stats_of(e).n_used_draft_blocks, 0);
    assert_int_equal(quire_engine_active_count(e), 0);
}

static struct quire_sampling_params sampling_of(float temperature, uint64_t seed)
{
    struct quire_sampling_params s;
    quire_sampling_params_init(&s, sizeof s);
    s.temperature = temperature;
    s.seed = seed;
    return s;
}

static struct quire_request_params fixed(const char *text, uint32_t max_tokens,
                                         const struct quire_sampling_params *sampling)
{
    struct quire_request_params p = greedy(text, max_tokens);
    p.sampling = sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
    return p;
}

/* A model drafts for itself: every draft is accepted, at every temperature and with samplers that
 * have a state, because it draws with the same random numbers. */
static void test_own_draft_model(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 64, K = 4 };
    static struct result plain, drafted;
    for (int i = 0; i < 5; i++) {
        struct quire_sampling_params s = sampling_of(i ? 1.0f : 0, (uint64_t)i);
        s.mirostat = i == 3 ? 2 : 0;
        s.repetition_penalty = i == 2 ? 1.2f : 1;
        s.presence_penalty = i ? 0 : 1; /* greedy text would repeat itself, for prompt lookup */
        const struct quire_engine_params ep = draft_params(target, target);
        struct quire_engine *e = open_with(&ep);
        struct quire_request_params p = fixed(story, N, &s);
        generate(e, &p, &plain);
        const struct quire_engine_stats before = stats_of(e);
        assert_int_equal(before.model_drafted_tokens + before.lookup_drafted_tokens, 0);
        p.draft_tokens = K;
        p.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(e, &p, &drafted);
        const struct quire_engine_stats after = stats_of(e);
        assert_same(&plain, &drafted);
        assert_int_equal(after.lookup_drafted_tokens, 0);
        /* one step for the prompt and the first token, then K + 1 tokens per step */
        assert_int_equal(after.n_steps - before.n_steps, 1 + (N - 1 + K) / (K + 1));
        assert_int_equal(after.model_drafted_tokens, after.model_accepted_tokens);
        assert_int_equal(after.model_accepted_tokens, N - 1 - (N - 1 + K) / (K + 1));
        /* a pass per drafted token; every token of the sequence is computed once but the last */
        assert_int_equal(after.draft_model_steps, after.model_drafted_tokens);
        assert_true(after.draft_model_tokens <= plain.usage.prompt_tokens + N);
        assert_all_free(e);
        quire_engine_close(e);
    }
}

/* Another model: the same answers, whether its drafts are good or bad. */
static void test_other_draft_model(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    const char *drafts[] = { rounded, other, "gpt2-bf16.gguf" };
    for (int i = 0; i < 3; i++) {
        const struct quire_engine_params ep = draft_params(i ? target : other, drafts[i]);
        struct quire_engine *e = open_with(&ep);
        for (uint32_t seed = 0; seed < 4; seed++) {
            const struct quire_sampling_params s = sampling_of(seed ? 1.0f : 0, seed);
            struct quire_request_params p = fixed(story, 60, &s);
            p.draft_tokens = 0;
            generate(e, &p, &plain);
            p.draft_tokens = 1 + seed * 3;
            generate(e, &p, &drafted);
            assert_same(&plain, &drafted);
        }
        const struct quire_engine_stats stats = stats_of(e);
        assert_true(stats.model_drafted_tokens > 0);
        assert_true(stats.model_accepted_tokens < stats.model_drafted_tokens);
        assert_all_free(e);
        quire_engine_close(e);
    }
}

/* After 20 tokens of the model the answer repeats seven tokens. */
static quire_status repeat(void *user, const struct quire_logits_args *args)
{
    size_t *n_first = user;
    if (*n_first == 0)
        *n_first = args->n_tokens;
    for (size_t i = 0; i < args->n_vocab && args->n_tokens >= *n_first + 20; i++)
        args->logits[i] = i == 20 + args->n_tokens % 7 ? 10.0f : -10.0f;
    return QUIRE_OK;
}

/* Where the text repeats itself, prompt lookup goes first, and the draft model fills the gaps. */
static void test_both_sources(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    const struct quire_engine_params ep = draft_params(target, rounded);
    struct quire_engine *e = open_with(&ep);
    size_t n_first = 0;
    struct quire_request_params p = fixed(story, 120, &greedy_sampling);
    p.logits_hook = repeat;
    p.logits_hook_user = &n_first;
    generate(e, &p, &plain);
    p.draft_tokens = 8;
    generate(e, &p, &drafted);
    assert_same(&plain, &drafted);
    const struct quire_engine_stats stats = stats_of(e);
    assert_true(stats.lookup_accepted_tokens > 0);
    assert_true(stats.model_accepted_tokens > 0);
    assert_all_free(e);
    quire_engine_close(e);
}

/* Depths by measured times: the answer is the same. */
static void test_adaptive(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    const struct quire_engine_params ep = draft_params(target, other);
    struct quire_engine *e = open_with(&ep);
    const struct quire_sampling_params s = sampling_of(1, 7);
    struct quire_request_params p = fixed(story, 150, &s);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, &plain);
    p.draft_tokens = 16;
    generate(e, &p, &drafted);
    assert_same(&plain, &drafted);
    assert_all_free(e);
    quire_engine_close(e);
}

/* A long prompt is taken over in chunks of at most the budget of a step; all requests draft in
 * shared passes. */
static void test_chunks(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { STEP = 32, PROMPT = 150 };
    int32_t tokens[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = 3 + i * 7 % 251;
    struct quire_engine_params ep = draft_params(target, target);
    ep.max_step_tokens = STEP;
    struct quire_engine *e = open_with(&ep);
    const struct quire_sampling_params s = sampling_of(1, 1);
    struct quire_request_params p = fixed("", 60, &s);
    p.text = NULL;
    p.tokens = tokens;
    p.n_tokens = PROMPT;
    p.draft_tokens = 3;
    static struct result results[2], plain;
    quire_request_id ids[2] = { submit(e, &p) };
    uint64_t computed = 0;
    while (stats_of(e).model_drafted_tokens == 0) {
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        const uint64_t n = stats_of(e).draft_model_tokens;
        assert_true(n - computed <= STEP + 2 * 3);
        computed = n;
    }
    assert_true(computed >= PROMPT);
    ids[1] = submit(e, &p);
    run_to_completion(e, ids, 2, results);
    const struct quire_engine_stats stats = stats_of(e);
    /* the second took over the blocks of the first, and shared the passes */
    assert_true(stats.draft_model_tokens < PROMPT + 64 + 2 * 62);
    assert_true(stats.draft_model_steps < stats.model_drafted_tokens);
    p.draft_tokens = 0;
    generate(e, &p, &plain);
    assert_same(&plain, &results[0]);
    assert_same(&plain, &results[1]);
    assert_all_free(e);
    quire_engine_close(e);
}

/* A cache without room for the sequences: they do not draft, or draft in turns. */
static void test_small_cache(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 6 };
    static struct result plain[N], drafted[N];
    for (uint64_t tokens = 1; tokens <= 400; tokens = tokens * 5 + 27) {
        struct quire_engine_params ep = draft_params(other, target);
        ep.block_size = 16;
        ep.draft_cache_tokens = tokens;
        struct quire_engine *e = open_with(&ep);
        quire_request_id ids[N];
        for (int with = 0; with < 2; with++) {
            for (uint32_t i = 0; i < N; i++) {
                const struct quire_sampling_params s = sampling_of(1, i);
                struct quire_request_params p = fixed(story + i, 90, &s);
                p.draft_tokens = with ? 4 : 0;
                ids[i] = submit(e, &p);
            }
            run_to_completion(e, ids, N, with ? drafted : plain);
        }
        for (int i = 0; i < N; i++)
            assert_same(&plain[i], &drafted[i]);
        if (tokens == 1) /* one block of 16 tokens */
            assert_int_equal(stats_of(e).model_drafted_tokens, 0);
        else if (tokens > 60)
            assert_true(stats_of(e).model_drafted_tokens > 0);
        assert_all_free(e);
        quire_engine_close(e);
    }
}

/* Answers of one prompt, requests that end in every way, and an engine that closes at work. */
static void test_ends(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = draft_params(target, rounded);
    ep.cache_tokens = 288; /* preempts */
    ep.block_size = 16;
    struct quire_engine *e = open_with(&ep);
    const struct quire_sampling_params s = sampling_of(1, 3);
    struct quire_request_params p = fixed(story, 120, &s);
    p.draft_tokens = 5;
    struct quire_event ev = { .struct_size = sizeof ev };
    for (int round = 0; round < 4; round++) {
        p.n = round == 0 ? 5 : 0;
        p.best_of = round == 1 ? 4 : 0;
        p.deadline = round == 2 ? 1e-9 : 0;
        const quire_request_id id = submit(e, &p);
        for (int i = 0; i < 8 && round; i++)
            assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        if (round == 3) {
            assert_true(e->draft_model->n_requests > 0);
            assert_status(QUIRE_OK, quire_request_cancel(e, id));
        }
        do
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        while (ev.kind != QUIRE_EVENT_NONE);
        assert_all_free(e);
    }
    assert_true(stats_of(e).n_preemptions > 0);
    p.deadline = 0;
    (void)submit(e, &p);
    for (int i = 0; i < 4; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_status(QUIRE_OK, quire_engine_drain(e, 0, NULL));
    assert_all_free(e);
    quire_engine_close(e);
    e = open_with(&ep);
    (void)submit(e, &p);
    for (int i = 0; i < 4; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_true(e->draft_model->n_requests > 0);
    quire_engine_close(e); /* the leak checker of the sanitizers sees what is left */
}

/* Sizes of a dry run are those of the engine; the cache of the draft model is inside the budget. */
static void test_sizes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = draft_params(target, other);
    struct quire_engine_info info[3];
    for (int i = 0; i < 3; i++) {
        ep.flags = i == 1 ? QUIRE_ENGINE_DRY_RUN : 0;
        struct quire_engine *e = open_with(&ep);
        quire_engine_info_init(&info[i], sizeof info[i]);
        assert_status(QUIRE_OK, quire_engine_get_info(e, &info[i]));
        if (!e->dry_run) {
            struct quire_kv_group_config groups[8];
            struct quire_kv_params kv = { .struct_size = sizeof kv, .groups = groups };
            struct quire_kv_memory memory = { .struct_size = sizeof memory };
            kv.n_groups = quire_kv_group_count(e->draft_model->kv);
            kv.block_size = quire_kv_block_size(e->draft_model->kv);
            assert_true(kv.n_groups <= 8);
            for (uint32_t g = 0; g < kv.n_groups; g++)
                assert_status(QUIRE_OK,
                              quire_kv_get_group(e->draft_model->kv, g, &groups[g], NULL));
            assert_status(QUIRE_OK, quire_kv_bytes(&kv, &memory, NULL));
            assert_true(memory.total == info[i].draft_kv_bytes);
        }
        quire_engine_close(e);
        if (i < 2) /* half of what both caches take */
            ep.kv_bytes = i ? (info[0].kv_bytes + info[0].draft_kv_bytes) / 2 : 0;
    }
    assert_true(info[0].draft_kv_bytes == info[1].draft_kv_bytes);
    assert_true(info[0].draft_context_bytes == info[1].draft_context_bytes);
    assert_true(info[0].draft_weight_bytes == info[1].draft_weight_bytes);
    assert_true(info[0].draft_weight_bytes && info[0].draft_kv_bytes);
    assert_true(info[0].draft_cache_tokens == info[0].cache_tokens);
    assert_true(info[2].cache_tokens < info[0].cache_tokens);
    assert_true(info[2].kv_bytes + info[2].draft_kv_bytes <= ep.kv_bytes);
}

/* ---- Arguments */

static void refuse(const struct quire_engine_params *p, quire_status status, const char *message)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = (struct quire_engine *)1;
    const quire_status s = quire_engine_open(p, &e, &err);
    if (s != status || !strstr(err.msg, message))
        fail_msg("%s: '%s', not '%s'", quire_status_name(s), err.msg, message);
    assert_null(e);
}

/* A tokenizer of the file in which the last byte of a token's text differs. */
static struct quire_tokenizer *changed_tokenizer(const char *path,
                                                 const struct quire_tokenizer *original,
                                                 int32_t token)
{
    size_t size, n;
    const char *text = quire_tokenizer_token_text(original, token, &size);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long end = ftell(f);
    char *data = malloc((size_t)end);
    assert_non_null(data);
    rewind(f);
    n = fread(data, 1, (size_t)end, f);
    fclose(f);
    assert_int_equal(n, end);
    char entry[64]; /* length in 8 bytes, text */
    const uint64_t length = size;
    assert_true(size + 8 < sizeof entry);
    memcpy(entry, &length, 8);
    memcpy(entry + 8, text, size);
    char *at = memmem(data, n, entry, size + 8);
    assert_non_null(at);
    do
        at[8 + size - 1]++;
    while (quire_tokenizer_find(original, at + 8, size) != QUIRE_TOKEN_NONE);
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_tokenizer_open_memory(data, n, NULL, 0, NULL, &t, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
    free(data);
    return t;
}

static void test_vocabularies(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { TOKEN = 300 };
    struct quire_engine_params p = draft_params(target, target);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = p.draft_model_path;
    struct quire_model *model;
    struct quire_tokenizer *own, *changed, *larger;
    assert_status(QUIRE_OK, quire_model_open(&mp, &model, NULL));
    assert_status(QUIRE_OK, quire_tokenizer_open(mp.path, NULL, &own, NULL));
    changed = changed_tokenizer(mp.path, own, TOKEN);
    p.draft_model_path = NULL;
    p.draft_model = model;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_model is given without draft_tokenizer");
    p.draft_tokenizer = changed;
    refuse(&p, QUIRE_E_MISMATCH, "draft_model: token 300 is ");
    char path[4200];
    snprintf(path, sizeof path, "%s/tokenizers/ggml-vocab-gpt-2.gguf", shared_dir());
    if (quire_tokenizer_open(path, NULL, &larger, NULL) == QUIRE_OK) {
        p.draft_tokenizer = larger;
        refuse(&p, QUIRE_E_MISMATCH, "draft_model: its vocabulary has ");
        quire_tokenizer_close(larger);
    }
    p.draft_tokenizer = (const struct quire_tokenizer *)(const void *)model;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_tokenizer has been");
    p.draft_tokenizer = own;
    p.draft_model = (struct quire_model *)(void *)own;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_model has been");

    /* one open model for both */
    p.model_path = NULL;
    p.model = p.draft_model = model;
    p.tokenizer = own;
    static struct result plain, drafted;
    const struct quire_sampling_params s = sampling_of(1, 5);
    struct quire_request_params r = fixed(story, 30, &s);
    struct quire_engine *e = open_with(&p);
    generate(e, &r, &plain);
    r.draft_tokens = 6;
    generate(e, &r, &drafted);
    assert_same(&plain, &drafted);
    assert_int_equal(stats_of(e).model_drafted_tokens, stats_of(e).model_accepted_tokens);
    quire_engine_close(e);
    quire_tokenizer_close(own);
    quire_tokenizer_close(changed);
    assert_status(QUIRE_OK, quire_model_close(model));
}

static void test_bad_arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params good = draft_params(target, other);
    struct quire_engine_params p = good;
    p.draft_model = (struct quire_model *)1;
    refuse(&p, QUIRE_E_INVALID_ARG, "give at most one of draft_model_path and draft_model");
    p = good;
    p.draft_tokenizer = (const struct quire_tokenizer *)1;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_tokenizer is given without draft_model");
    p = good;
    p.max_draft_tokens = 0;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_model_path is given, but max_draft_tokens is 0");
    p = good;
    p.draft_model_path = NULL;
    p.draft_cache_tokens = 1;
    refuse(&p, QUIRE_E_INVALID_ARG, "draft_cache_tokens is given without a draft model");
    p = good;
    p.draft_cache_tokens = UINT64_MAX;
    refuse(&p, QUIRE_E_LIMIT, "draft_cache_tokens");
    p = good;
    p.draft_model_path = "/nonexistent.gguf";
    refuse(&p, QUIRE_E_IO, "draft_model_path: ");
    p = good;
    p.kv_bytes = 4096;
    p.context_length = 0;
    refuse(&p, QUIRE_E_LIMIT, "kv_bytes: one block");
    p.kv_bytes = 200000;
    p.context_length = 4096;
    refuse(&p, QUIRE_E_LIMIT, "the KV cache with that of the draft model of 4096 tokens takes");
    p = draft_params(target, "bert-bf16.gguf");
    refuse(&p, QUIRE_E_UNSUPPORTED, "draft_model_path: architecture 'bert' is an encoder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_draft_model),
        cmocka_unit_test(test_other_draft_model),
        cmocka_unit_test(test_both_sources),
        cmocka_unit_test(test_adaptive),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_small_cache),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_vocabularies),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
