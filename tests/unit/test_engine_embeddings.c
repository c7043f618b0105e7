/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_embeddings.c - embedding rows in prompts give the logits, bit for bit, of the tokens
 * whose rows they are, and those of quire_context_forward() for any rows. */
#include "test_embeddings.h"

enum { N_JOBS = 10, MAX_PROMPT = 120, MAX_PARTS = MAX_PROMPT };

/* A prompt of tokens, or the same prompt in parts; the hash of all its rows of logits. */
struct job {
    int32_t prompt[MAX_PROMPT];
    uint32_t n;
    float *rows; /* [n][hidden_size] */
    struct quire_prompt_part parts[MAX_PARTS];
    struct quire_request_params params;
    uint64_t hash;
    struct result result;
};

static quire_status hash_logits(void *user, const struct quire_logits_args *args)
{
    uint64_t *hash = user;
    const uint32_t *words = (const uint32_t *)(const void *)args->logits;
    for (size_t i = 0; i < args->n_vocab; i++)
        *hash = (*hash ^ words[i]) * 0x9E3779B97F4A7C15u >> 1;
    return QUIRE_OK;
}

static void make_jobs(struct job *jobs, const struct lookup *l)
{
    uint32_t random = 1;
    const uint32_t n_ids = l->n_tokens < 250 ? l->n_tokens : 250;
    for (uint32_t i = 0; i < N_JOBS; i++) {
        struct job *j = &jobs[i];
        *j = (struct job){ .n = 1 + next_random(&random) % MAX_PROMPT };
        const uint32_t shared = next_random(&random) % 3 * 30;
        j->rows = malloc((size_t)j->n * l->hidden_size * sizeof *j->rows);
        assert_non_null(j->rows);
        for (uint32_t k = 0; k < j->n; k++) {
            j->prompt[k] = (int32_t)((k < shared ? k * 7 : k * 31 + i * 13) % n_ids);
            memcpy(j->rows + (size_t)k * l->hidden_size, row_of(l, j->prompt[k]),
                   l->hidden_size * sizeof *j->rows);
        }
        j->params = of_parts(NULL, 0, 1 + next_random(&random) % 40);
        j->params.priority = (int32_t)(next_random(&random) % 3);
        j->params.logits_hook = hash_logits;
        j->params.logits_hook_user = &j->hash;
        j->params.tokens = j->prompt;
        j->params.n_tokens = j->n;
    }
}

enum split { ALL_TOKENS, ALL_ROWS, ROW_BY_ROW, IN_THE_MIDDLE, RANDOM_SPLIT, N_SPLITS };

/* Cuts the prompt of a job into parts, some of which are rows in place of tokens. */
static void cut(struct job *j, enum split split, const struct lookup *l, uint32_t seed)
{
    size_t n_parts = 0;
    for (uint32_t at = 0; at < j->n; n_parts++) {
        const uint32_t left = j->n - at;
        uint32_t n = left;
        bool rows = split == ALL_ROWS;
        if (split == ROW_BY_ROW) {
            n = 1;
            rows = at % 2;
        } else if (split == IN_THE_MIDDLE) {
            n = n_parts < 2 ? (left + 2) / 3 : left;
            rows = n_parts == 1;
        } else if (split == RANDOM_SPLIT) {
            n = 1 + next_random(&seed) % left;
            rows = next_random(&seed) % 2;
        }
        j->parts[n_parts] = rows
                                ? row_part(j->rows + (size_t)at * l->hidden_size, n, l->hidden_size)
                                : token_part(j->prompt + at, n);
        at += n;
    }
    j->params.tokens = NULL;
    j->params.n_tokens = 0;
    j->params.parts = j->parts;
    j->params.n_parts = n_parts;
}

static void run_jobs(struct quire_engine *e, struct job *jobs, uint32_t seed)
{
    quire_request_id ids[N_JOBS] = { 0 };
    struct quire_event ev = { .struct_size = sizeof ev };
    uint32_t submitted = 0, done = 0;
    for (size_t guard = 0; done < N_JOBS; guard++) {
        assert_true(guard < 100000);
        if (submitted < N_JOBS && next_random(&seed) % 3 == 0) {
            struct job *j = &jobs[submitted];
            size_t n;
            j->hash = 1;
            j->result.size = j->result.n_tokens = 0;
            assert_status(QUIRE_OK, quire_engine_count_tokens(e, &j->params, &n, NULL));
            assert_int_equal(n, j->n);
            ids[submitted++] = submit(e, &j->params);
        }
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
            uint32_t i = 0;
            while (ids[i] != ev.id)
                i++;
            append_event(&ev, &jobs[i].result);
            jobs[i].result.done = ev;
            if (ev.kind != QUIRE_EVENT_DONE)
                continue;
            assert_int_equal(ev.reason, QUIRE_FINISH_LENGTH);
            assert_int_equal(ev.usage->prompt_tokens, jobs[i].n);
            done++;
        }
    }
}

struct setup {
    uint32_t threads, step, seqs, block;
    uint64_t cache_tokens; /* 0 = automatic */
};

static struct quire_engine *open_setup(const char *model, const struct setup *s)
{
    struct quire_engine_params p = params_for(model);
    p.context_length = 160;
    p.n_threads = s->threads;
    p.max_step_tokens = s->step;
    p.max_seqs = s->seqs;
    p.max_requests = N_JOBS;
    p.block_size = s->block;
    p.cache_tokens = s->cache_tokens;
    return open_with(&p);
}

/* Runs the jobs in parts, with neighbours of tokens, twice, the second time with a warm cache.
 * Returns how often they were preempted. */
static uint64_t check_setup(const char *model, const struct lookup *l, const struct job *alone,
                            const struct setup *s, uint32_t seed)
{
    static struct job together[N_JOBS];
    struct quire_engine *e = open_setup(model, s);
    make_jobs(together, l);
    for (uint32_t i = 0; i < N_JOBS; i++)
        if ((i + seed) % N_SPLITS != ALL_TOKENS)
            cut(&together[i], (enum split)((i + seed) % N_SPLITS), l, seed * 100 + i);
    for (uint32_t round = 0; round < 2; round++) {
        run_jobs(e, together, seed * 10 + round);
        for (uint32_t i = 0; i < N_JOBS; i++) {
            assert_same(&alone[i].result, &together[i].result);
            assert_true(alone[i].hash == together[i].hash);
        }
    }
    for (uint32_t i = 0; i < N_JOBS; i++)
        free(together[i].rows);
    const uint64_t n_preempted = e->scheduler.n_preemptions;
    qr_prefix_index_clear(e->memory.index, NULL);
    assert_int_equal(e->embeddings.n_rows, 0); /* nothing refers to a row any more */
    quire_engine_close(e);
    return n_preempted;
}

static void check_model(const char *model)
{
    static const struct setup setups[] = {
        { 1, 1, 1, 16, 0 },    { 2, 7, 4, 16, 0 },   { 3, 16, 8, 32, 0 },
        { 1, 64, 8, 16, 176 }, { 2, 256, 8, 64, 0 }, { 3, 64, 6, 16, 192 },
    };
    static struct job alone[N_JOBS];
    const struct setup one = { 1, 256, 1, 64, 0 };
    const struct lookup l = open_lookup(params_for(model).model_path);
    struct quire_engine *e = open_setup(model, &one);
    print_message("%s\n", model);
    make_jobs(alone, &l);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        alone[i].hash = 1;
        alone[i].params.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(e, &alone[i].params, &alone[i].result);
    }
    quire_engine_close(e);
    uint64_t n_preempted = 0;
    for (uint32_t i = 0; i < sizeof setups / sizeof *setups; i++)
        n_preempted += check_setup(model, &l, alone, &setups[i], i + 1);
    assert_true(n_preempted > 0);
    for (uint32_t i = 0; i < N_JOBS; i++)
        free(alone[i].rows);
    free(l.rows);
}

/* Scaled embeddings (gemma), learned positions (gpt2), a norm of the embeddings (bloom), windows
 * (gemma2), latent attention (deepseek_v2), experts (mixtral). */
static void test_rows_of_tokens(void **state)
{
    (void)state;
    static const char *const models[] = { "llama-bf16.gguf",   "gemma-bf16.gguf",
                                          "gpt2-bf16.gguf",    "bloom-bf16.gguf",
                                          "qwen3-bf16.gguf",   "gemma2_q32-bf16.gguf",
                                          "mixtral-bf16.gguf", "deepseek_v2-bf16.gguf" };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(models[i]);
}

/* ---- Random rows against the forward pass */

enum { ROWS = 23, BLOCK = 16, BLOCKS = 2, MAX_GROUPS = 2 };

static void forward(const char *path, const float *rows, bool one_by_one, float *logits)
{
    struct quire_model_params mp;
    struct quire_context_params cp;
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_kv_group_config g[MAX_GROUPS];
    struct quire_model_info info = { .struct_size = sizeof info };
    uint32_t n_groups;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    assert_status(QUIRE_OK, quire_model_open(&mp, &model, NULL));
    assert_status(QUIRE_OK, quire_model_get_info(model, &info));
    assert_status(QUIRE_OK, quire_model_kv_groups(model, g, MAX_GROUPS, &n_groups));
    for (uint32_t i = 0; i < n_groups; i++) {
        g[i].n_blocks = BLOCKS;
        g[i].k_dtype = g[i].v_dtype = QUIRE_KV_F16;
    }
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = g, .n_groups = n_groups
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, NULL));
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = kv;
    cp.max_tokens = ROWS;
    cp.max_seqs = 1;
    cp.max_seq_len = ROWS;
    assert_status(QUIRE_OK, quire_context_create(model, &cp, &context, NULL));
    int32_t tables[MAX_GROUPS][BLOCKS];
    int64_t slots[ROWS];
    struct quire_attention_batch_group groups[MAX_GROUPS];
    const float *pointers[ROWS];
    for (uint32_t i = 0; i < n_groups; i++) {
        assert_status(QUIRE_OK, quire_kv_alloc(kv, i, -1, BLOCKS, tables[i], NULL));
        groups[i] = (struct quire_attention_batch_group){ .block_table = tables[i],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots };
    }
    assert_memory_equal(tables[0], tables[n_groups - 1], sizeof tables[0]);
    for (int32_t i = 0; i < ROWS; i++) {
        slots[i] = (int64_t)tables[0][i / BLOCK] * BLOCK + i % BLOCK;
        pointers[i] = rows + (size_t)i * info.hidden_size;
    }
    const int32_t starts[2] = { 0, ROWS }, length = ROWS;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &length,
                                                 .n_groups = n_groups,
                                                 .groups = groups };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .embeddings = one_by_one ? NULL : rows,
                                             .embedding_rows = one_by_one ? pointers : NULL,
                                             .logits = logits };
    assert_status(QUIRE_OK, quire_context_forward(context, &args, NULL));
    quire_context_destroy(context);
    quire_kv_destroy(kv);
    assert_status(QUIRE_OK, quire_model_close(model));
}

static quire_status keep_logits(void *user, const struct quire_logits_args *args)
{
    float **out = user;
    memcpy(*out, args->logits, args->n_vocab * sizeof *args->logits);
    return QUIRE_OK;
}

static void test_random_rows(void **state)
{
    (void)state;
    static const char *const models[] = { "llama-bf16.gguf", "gemma2_q32-bf16.gguf",
                                          "gpt2-bf16.gguf", "qwen3-bf16.gguf" };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct quire_engine_params ep = params_for(models[i]);
        struct quire_engine *e = open_with(&ep);
        const size_t n_vocab = e->vocab_size, bytes = n_vocab * sizeof(float);
        float *rows = random_rows(ROWS, e->hidden_size, 3), *got = malloc(bytes),
              *want = malloc(bytes);
        assert_true(got && want);
        const struct quire_prompt_part part = row_part(rows, ROWS, e->hidden_size);
        struct quire_request_params p = of_parts(&part, 1, 1);
        p.flags = 0; /* no end-of-generation token is masked */
        p.logits_hook = keep_logits;
        p.logits_hook_user = &got;
        struct result r;
        generate(e, &p, &r);
        const size_t n_text = e->n_text_tokens;
        for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
            forward(ep.model_path, rows, one_by_one, want);
            assert_memory_equal(got, want, n_text * sizeof *got);
        }
        quire_engine_close(e);
        free(rows);
        free(got);
        free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_tokens),
        cmocka_unit_test(test_random_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
