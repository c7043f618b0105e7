/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent_forward.c - steps of models with recurrent layers: the same bits for every chunk,
 * batch and number of threads, copied and saved states, bad arguments. Reads reference models. */
#include "quire_cmocka.h"
#include <quire/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 70, SEQS = 3, BLOCK = 16, BLOCKS = (TOKENS + BLOCK - 1) / BLOCK, GROUPS = 4 };

/* A kind of recurrent layer each, a shared block, or attention with a state. mamba2 and lfm2 have
 * the first places. */
static const char *const models[] = {
    "mamba2",      "lfm2",        "jamba",     "qwen3_5_text",    "mamba",
    "kimi_linear", "minimax",     "falcon_h1", "zamba2",          "rwkv",
    "qwen4_exp",   "deepseek_v4", "zaya",      "recurrent_gemma", NULL
};

static struct quire_error err;
static struct quire_threads *threads;
static struct quire_model *model;
static struct quire_model_info info;
static struct quire_kv_cache *kv;
static struct quire_state_pool *states;
static struct quire_context *context;
static uint32_t n_groups;
static int32_t table[SEQS][BLOCKS], slots[SEQS];
static int32_t tokens[SEQS][TOKENS];

static void make_pools(void)
{
    struct quire_kv_group_config groups[GROUPS];
    struct quire_state_pool_params p;
    assert_status(QUIRE_OK, quire_model_kv_groups(model, groups, GROUPS, &n_groups));
    for (uint32_t g = 0; g < n_groups; g++) {
        groups[g].n_blocks = SEQS * BLOCKS;
        groups[g].k_dtype = groups[g].v_dtype = QUIRE_KV_BF16;
    }
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = groups, .n_groups = n_groups
    };
    kv = NULL;
    if (n_groups)
        assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, &err));
    for (uint32_t g = 0; g < n_groups; g++)
        assert_status(QUIRE_OK, quire_kv_alloc(kv, g, -1, SEQS * BLOCKS, table[0], &err));
    quire_state_pool_params_init(&p, sizeof p);
    p.n_slots = SEQS + 2;
    p.state_bytes = info.state_bytes;
    assert_status(QUIRE_OK, quire_state_pool_create(&p, &states, &err));
    for (int i = 0; i < SEQS; i++)
        assert_status(QUIRE_OK, quire_state_pool_alloc(states, &slots[SEQS - 1 - i], &err));
}

static struct quire_context_params context_params(void)
{
    struct quire_context_params p;
    quire_context_params_init(&p, sizeof p);
    p.kv = kv;
    p.states = states;
    p.threads = threads;
    p.max_tokens = SEQS * TOKENS;
    p.max_seqs = SEQS;
    p.max_seq_len = TOKENS;
    return p;
}

/* flags: QUIRE_MODEL_* */
static void open_model(const char *name, uint32_t flags)
{
    char path[5000];
    struct quire_model_params mp;
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.compute = QUIRE_COMPUTE_NATIVE;
    mp.flags = flags;
    assert_status(QUIRE_OK, quire_model_open(&mp, &model, &err));
    quire_model_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_model_get_info(model, &info));
    assert_true(info.n_recurrent_layers > 0 && info.state_bytes > 0);
    make_pools();
    const struct quire_context_params p = context_params();
    assert_status(QUIRE_OK, quire_context_create(model, &p, &context, &err));
    for (int s = 0; s < SEQS; s++)
        for (int i = 0; i < TOKENS; i++)
            tokens[s][i] = (int32_t)((unsigned)(i * 37 + s * 101 + i * i) % info.vocab_size);
}

static void close_model(void)
{
    quire_context_destroy(context);
    quire_state_pool_destroy(states);
    quire_kv_destroy(kv);
    assert_status(QUIRE_OK, quire_model_close(model));
}

/* One step: sequences listed in seqs append counts[i] tokens to done[i]. */
struct step {
    uint32_t n_seqs, n_threads;
    int seqs[SEQS];
    uint32_t done[SEQS], counts[SEQS];
};

static quire_status run_slots(const struct step *s, const int32_t *state_slots, float *logits)
{
    int32_t starts[SEQS + 1] = { 0 }, lens[SEQS], ids[SEQS * TOKENS], rows[SEQS][BLOCKS];
    int64_t mapping[SEQS * TOKENS];
    struct quire_attention_batch_group groups[GROUPS];
    for (uint32_t i = 0, t = 0; i < s->n_seqs; i++) {
        lens[i] = (int32_t)(s->done[i] + s->counts[i]);
        starts[i + 1] = starts[i] + (int32_t)s->counts[i];
        memcpy(rows[i], table[s->seqs[i]], sizeof rows[i]);
        for (uint32_t j = s->done[i]; j < s->done[i] + s->counts[i]; j++, t++) {
            ids[t] = tokens[s->seqs[i]][j];
            mapping[t] = (int64_t)rows[i][j / BLOCK] * BLOCK + j % BLOCK;
        }
    }
    for (uint32_t g = 0; g < n_groups; g++)
        groups[g] = (struct quire_attention_batch_group){ .block_table = rows[0],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = mapping };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = s->n_seqs,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = n_groups,
                                                 .groups = n_groups ? groups : NULL };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .n_threads = s->n_threads,
                                             .logits = logits,
                                             .state_slots = state_slots };
    return quire_context_forward(context, &args, &err);
}

static void run(const struct step *s, float *logits)
{
    int32_t state_slots[SEQS];
    for (uint32_t i = 0; i < s->n_seqs; i++)
        state_slots[i] = slots[s->seqs[i]];
    if (run_slots(s, state_slots, logits) != QUIRE_OK)
        fail_msg("%s", err.msg);
}

/* The last logits of a sequence, alone, in chunks. */
static void run_alone(int seq, uint32_t chunk, uint32_t n_threads, float *logits)
{
    for (uint32_t done = 0; done < TOKENS; done += chunk) {
        const uint32_t n = chunk < TOKENS - done ? chunk : TOKENS - done;
        const struct step s = { 1, n_threads, { seq }, { done }, { n } };
        run(&s, logits);
    }
}

static float *rows_of(uint32_t n) { return malloc((size_t)n * info.vocab_size * sizeof(float)); }

static void check_same_bits(void)
{
    static const uint32_t chunks[] = { 1, 2, 7, 16, 64 };
    const size_t bytes = info.vocab_size * sizeof(float), state_bytes = info.state_bytes;
    float *want = rows_of(1), *got = rows_of(SEQS);
    unsigned char *state_want = malloc(state_bytes), *state_got = malloc(state_bytes);
    run_alone(0, TOKENS, 1, want);
    assert_status(QUIRE_OK, quire_state_pool_read(states, slots[0], state_want, state_bytes, &err));
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        run_alone(0, chunks[i], (uint32_t)(i % 3) + 1, got);
        assert_memory_equal(got, want, bytes);
        assert_status(QUIRE_OK,
                      quire_state_pool_read(states, slots[0], state_got, state_bytes, &err));
        assert_memory_equal(state_got, state_want, state_bytes);
    }
    /* with other sequences, of other lengths, one of them without tokens in the second step */
    const struct step first = { 3, 3, { 2, 0, 1 }, { 0 }, { 9, 33, TOKENS } };
    const struct step second = { 3, 2, { 1, 0, 2 }, { TOKENS, 33, 9 }, { 0, TOKENS - 33, 1 } };
    run(&first, got);
    run(&second, got);
    assert_memory_equal(got + info.vocab_size, want, bytes);
    free(want);
    free(got);
    free(state_want);
    free(state_got);
}

static void same_bits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t m = 0; nth_model(models, m); m++) {
        open_model(nth_model(models, m), 0);
        check_same_bits();
        close_model();
    }
}

/* The same with states in bf16. Models without layers that allow it are as without the flag. */
static void same_bits_bf16(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t m = 0; nth_model(models, m); m++) {
        open_model(nth_model(models, m), 0);
        const uint64_t f32_bytes = info.state_bytes;
        float *f32 = rows_of(1), *bf16 = rows_of(1);
        run_alone(0, TOKENS, 1, f32);
        close_model();
        open_model(nth_model(models, m), QUIRE_MODEL_BF16_STATES);
        run_alone(0, TOKENS, 1, bf16);
        const bool differs = memcmp(f32, bf16, info.vocab_size * sizeof *f32) != 0;
        assert_int_equal(differs, info.state_bytes < f32_bytes);
        if (differs)
            check_same_bits();
        else
            assert_int_equal(info.state_bytes, f32_bytes);
        free(f32);
        free(bf16);
        close_model();
    }
}

/* A fork continues from a copy, a restored sequence from a saved state, with the same bits. */
static void copied_states(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    open_model("mamba2", 0); /* without keys and values, a state is all of a sequence */
    const size_t bytes = info.vocab_size * sizeof(float), state_bytes = info.state_bytes;
    const struct step begin = { 1, 0, { 0 }, { 0 }, { 40 } },
                      rest = { 1, 0, { 0 }, { 40 }, { 30 } };
    float *want = rows_of(1), *got = rows_of(1);
    void *saved = malloc(state_bytes);
    int32_t fork;
    run(&begin, got);
    assert_status(QUIRE_OK, quire_state_pool_alloc(states, &fork, &err));
    assert_status(QUIRE_OK, quire_state_pool_copy(states, fork, slots[0], &err));
    assert_status(QUIRE_OK, quire_state_pool_read(states, slots[0], saved, state_bytes, &err));
    run(&rest, want);
    assert_status(QUIRE_OK, run_slots(&rest, &fork, got));
    assert_memory_equal(got, want, bytes);
    assert_status(QUIRE_OK, quire_state_pool_write(states, fork, saved, state_bytes, &err));
    assert_status(QUIRE_OK, run_slots(&rest, &fork, got));
    assert_memory_equal(got, want, bytes);
    free(want);
    free(got);
    free(saved);
    close_model();
}

static void refused(quire_status status, const char *part, const struct step *s,
                    const int32_t *state_slots)
{
    float *logits = rows_of(SEQS);
    assert_status(status, run_slots(s, state_slots, logits));
    if (!strstr(err.msg, part))
        fail_msg("%s", err.msg);
    free(logits);
}

static void bad_slots(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int m = 0; m < 2; m++) {
        open_model(models[m], 0);
        const struct step one = { 1, 0, { 0 }, { 0 }, { 5 } };
        const struct step two = { 2, 0, { 0, 1 }, { 0, 0 }, { 5, 5 } };
        const size_t state_bytes = info.state_bytes;
        unsigned char *before = malloc(state_bytes), *after = malloc(state_bytes);
        assert_status(QUIRE_OK, quire_state_pool_read(states, slots[0], before, state_bytes, &err));
        refused(QUIRE_E_INVALID_ARG, "state_slots is NULL", &one, NULL);
        refused(QUIRE_E_RANGE, "state_slots[0] is -1", &one, (const int32_t[]){ -1 });
        refused(QUIRE_E_RANGE, "state_slots[0] is 5", &one, (const int32_t[]){ SEQS + 2 });
        refused(QUIRE_E_MISUSE, "is free", &one, (const int32_t[]){ SEQS + 1 });
        refused(QUIRE_E_INVALID_ARG, "earlier sequence", &two,
                (const int32_t[]){ slots[0], slots[0] });
        refused(QUIRE_E_MISUSE, "state_slots[1]", &two, (const int32_t[]){ slots[0], SEQS });
        assert_status(QUIRE_OK, quire_state_pool_read(states, slots[0], after, state_bytes, &err));
        assert_memory_equal(before, after, state_bytes);
        free(before);
        free(after);
        close_model();
    }
}

static void refused_batch(quire_status status, const char *part, struct quire_attention_batch b)
{
    const int32_t ids[8] = { 0 };
    b.struct_size = sizeof b;
    const struct quire_forward_args args = {
        .struct_size = sizeof args, .batch = &b, .token_ids = ids, .state_slots = slots
    };
    assert_status(status, quire_context_forward(context, &args, &err));
    if (!strstr(err.msg, part))
        fail_msg("%s", err.msg);
}

/* A model without attention has no plan to check its batches. */
static void bad_batches(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t good[] = { 0, 2 }, late[] = { 1, 2 }, falling[] = { 0, 2, 1 },
                  far[] = { 0, SEQS * TOKENS + 1 }, len[] = { 2, 2, 2, 2 }, low[] = { 1 },
                  longer[] = { TOKENS + 1 }, many[] = { 0, 1, 2, 3, 4 };
    const uint64_t tree[] = { 1, 3 };
    struct quire_attention_batch_group group = { 0 };
    open_model("mamba2", 0);
    assert_int_equal(n_groups, 0);
    assert_int_equal(info.n_attention_layers, 0);
    refused_batch(
        QUIRE_E_INVALID_ARG, "query_start_loc[0]",
        (struct quire_attention_batch){ .n_seqs = 1, .query_start_loc = late, .seq_lens = len });
    refused_batch(
        QUIRE_E_INVALID_ARG, "query_start_loc[2]",
        (struct quire_attention_batch){ .n_seqs = 2, .query_start_loc = falling, .seq_lens = len });
    refused_batch(
        QUIRE_E_LIMIT, "max_tokens",
        (struct quire_attention_batch){ .n_seqs = 1, .query_start_loc = far, .seq_lens = len });
    refused_batch(
        QUIRE_E_INVALID_ARG, "seq_lens[0]",
        (struct quire_attention_batch){ .n_seqs = 1, .query_start_loc = good, .seq_lens = low });
    refused_batch(
        QUIRE_E_LIMIT, "seq_lens[0]",
        (struct quire_attention_batch){ .n_seqs = 1, .query_start_loc = good, .seq_lens = longer });
    refused_batch(
        QUIRE_E_LIMIT, "max_seqs",
        (struct quire_attention_batch){ .n_seqs = 4, .query_start_loc = many, .seq_lens = len });
    refused_batch(QUIRE_E_INVALID_ARG, "1 groups",
                  (struct quire_attention_batch){ .n_seqs = 1,
                                                  .query_start_loc = good,
                                                  .seq_lens = len,
                                                  .n_groups = 1,
                                                  .groups = &group });
    refused_batch(QUIRE_E_UNSUPPORTED, "tree_mask",
                  (struct quire_attention_batch){
                      .n_seqs = 1, .query_start_loc = good, .seq_lens = len, .tree_mask = tree });
    close_model();
}

static void refused_context(quire_status status, const char *part,
                            const struct quire_context_params *p)
{
    struct quire_context *c = NULL;
    uint64_t bytes;
    assert_status(status, quire_context_create(model, p, &c, &err));
    assert_null(c);
    assert_non_null(strstr(err.msg, part));
    assert_status(status, quire_context_bytes(model, p, &bytes, &err));
}

static void bad_contexts(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_state_pool_params sp;
    struct quire_state_pool *other, *of_mamba2;
    quire_state_pool_params_init(&sp, sizeof sp);
    sp.n_slots = 1;
    sp.state_bytes = 64;
    assert_status(QUIRE_OK, quire_state_pool_create(&sp, &other, &err));
    open_model("mamba2", 0);
    struct quire_context_params p = context_params();
    p.states = NULL;
    refused_context(QUIRE_E_INVALID_ARG, "params.states is NULL", &p);
    p.states = other;
    refused_context(QUIRE_E_MISMATCH, "params.states", &p);
    p.states = (struct quire_state_pool *)(void *)model;
    refused_context(QUIRE_E_INVALID_ARG, "params.states", &p);
    sp.state_bytes = info.state_bytes;
    assert_status(QUIRE_OK, quire_state_pool_create(&sp, &of_mamba2, &err));
    close_model();
    open_model("lfm2", 0);
    struct quire_kv_cache *of_lfm2 = kv;
    p = context_params();
    p.kv = NULL; /* its attention layers need one */
    refused_context(QUIRE_E_INVALID_ARG, "params.kv is NULL", &p);
    struct quire_model *lfm2 = model;
    struct quire_context *lfm2_context = context;
    struct quire_state_pool *lfm2_states = states;
    open_model("mamba2", 0);
    p = context_params();
    p.kv = of_lfm2; /* without attention there must be none */
    refused_context(QUIRE_E_INVALID_ARG, "params.kv must be NULL", &p);
    close_model();
    model = lfm2;
    context = lfm2_context;
    states = lfm2_states;
    kv = of_lfm2;
    close_model();
    quire_state_pool_destroy(other);
    quire_state_pool_destroy(of_mamba2);
}

/* A model without recurrent layers takes no pool. */
static void pool_without_states(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char path[5000];
    struct quire_model_params mp;
    struct quire_state_pool_params sp;
    snprintf(path, sizeof path, "%s/goldens/llama", shared_dir());
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    assert_status(QUIRE_OK, quire_model_open(&mp, &model, &err));
    quire_model_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_model_get_info(model, &info));
    assert_true(info.state_bytes == 0 && info.n_recurrent_layers == 0);
    assert_int_equal(info.n_attention_layers, info.n_layers);
    quire_state_pool_params_init(&sp, sizeof sp);
    sp.n_slots = 1;
    sp.state_bytes = 64;
    assert_status(QUIRE_OK, quire_state_pool_create(&sp, &states, &err));
    struct quire_context_params p = context_params();
    p.kv = NULL;
    refused_context(QUIRE_E_INVALID_ARG, "params.states must be NULL", &p);
    quire_state_pool_destroy(states);
    assert_status(QUIRE_OK, quire_model_close(model));
}

static int open_threads(void **state)
{
    (void)state;
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = 3;
    return quire_threads_create(&tp, &threads, &err) == QUIRE_OK ? 0 : -1;
}

static int close_threads(void **state)
{
    (void)state;
    quire_threads_destroy(threads);
    return 0;
}

int main(void)
{
    const struct CMUnitTest any_model[] = { cmocka_unit_test(same_bits),
                                            cmocka_unit_test(same_bits_bf16) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),           cmocka_unit_test(same_bits_bf16),
        cmocka_unit_test(copied_states),       cmocka_unit_test(bad_slots),
        cmocka_unit_test(bad_batches),         cmocka_unit_test(bad_contexts),
        cmocka_unit_test(pool_without_states),
    };
    return getenv("QUIRE_TEST_MODEL")
               ? cmocka_run_group_tests(any_model, open_threads, close_threads)
               : cmocka_run_group_tests(tests, open_threads, close_threads);
}
