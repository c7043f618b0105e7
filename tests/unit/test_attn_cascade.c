/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_cascade.c - cascades give the same bits as each sequence computed alone. */
#include "attention/forward.h"
#include "base/team.h"
#include "kernels/dispatch.h"
#include "test_plan.h"

enum { SEQS = 14, KEYS = 3200, HEADS = 2, WORDS = KEYS / 64 + 1 };

/* A pool filled with random rows, and a batch whose sequences fork off each other. */
struct forest {
    struct quire_kv_cache *kv;
    struct quire_attention_config config;
    uint32_t block_size, n_blocks, n_seqs, n_tokens, per_seq;
    int32_t starts[SEQS + 1], lens[SEQS], encoder_lens[SEQS];
    int32_t *table; /* [n_seqs][per_seq] */
    bool causal[SEQS];
    uint64_t tree[SEQS * 200];
    int32_t span_loc[SEQS + 1];
    struct quire_token_range spans[SEQS];
    struct quire_attention_batch_group group;
    struct quire_attention_batch batch;
    float slopes[MAX_PROBLEM_HEADS], sinks[MAX_PROBLEM_HEADS],
        relative[MAX_PROBLEM_HEADS * (2 * MAX_PROBLEM_RANGE + 1)];
    float *q;
    int8_t *codes;                     /* int8 queries in place of q, or NULL */
    struct qr_key_selection selection; /* bits NULL: none */
    uint64_t *selected;
    float *q_scale;
};

static uint32_t v_size_of(const struct forest *f)
{
    return f->config.v_head_size ? f->config.v_head_size : f->config.head_size;
}

static void make_pool(struct forest *f, enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype)
{
    const float scale = 0.02f;
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = f->config.n_kv_heads,
                                                 .head_size = f->config.head_size,
                                                 .v_head_size = f->config.v_head_size,
                                                 .k_dtype = k_dtype,
                                                 .v_dtype = v_dtype,
                                                 .n_blocks = f->n_blocks,
                                                 .k_scale = &scale,
                                                 .v_scale = &scale,
                                                 .n_k_scales = 1,
                                                 .n_v_scales = 1 };
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = f->block_size, .groups = &group, .n_groups = 1
    };
    const size_t n = (size_t)f->n_blocks * f->block_size;
    int32_t *ids = malloc(f->n_blocks * sizeof *ids);
    int64_t *slots = malloc(n * sizeof *slots);
    float *k = problem_values(n * f->config.n_kv_heads * f->config.head_size, 2);
    float *v = problem_values(n * f->config.n_kv_heads * v_size_of(f), 2);
    for (size_t i = 0; i < n; i++)
        slots[i] = (int64_t)i;
    must(quire_kv_create(&config, &f->kv, &err));
    must(quire_kv_alloc(f->kv, 0, -1, f->n_blocks, ids, &err));
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = k, .v = v, .slot_mapping = slots, .n_tokens = n
    };
    must(quire_kv_write(f->kv, &w, NULL, &err));
    free(ids), free(slots), free(k), free(v);
}

/* Assigns the blocks of sequence i: a prefix of an earlier sequence's blocks, then new ones.
 * Returns the first free block. */
static int32_t fork_off(struct forest *f, uint32_t i, int32_t next, uint32_t keys)
{
    const uint32_t n = (keys + f->block_size - 1) / f->block_size;
    uint32_t shared = 0;
    int32_t *row = f->table + (size_t)i * f->per_seq;
    if (i && problem_below(5)) {
        const uint32_t from = problem_below(i);
        const uint32_t theirs =
            ((uint32_t)f->encoder_lens[from] + f->block_size - 1) / f->block_size;
        shared = problem_below(3) ? theirs : problem_below(theirs + 1);
        shared = shared < n ? shared : n;
        memcpy(row, f->table + (size_t)from * f->per_seq, shared * sizeof *row);
    }
    for (uint32_t j = 0; j < f->per_seq; j++)
        if (j >= n)
            row[j] = -5; /* must not be read */
        else if (j >= shared)
            row[j] = next++;
    return next;
}

static void make_batch(struct forest *f)
{
    f->per_seq = KEYS / f->block_size + 1;
    f->table = malloc((size_t)f->n_seqs * f->per_seq * sizeof *f->table);
    int32_t next = 0;
    for (uint32_t i = 0; i < f->n_seqs; i++) {
        const uint32_t keys =
            problem_below(6) ? 600 + problem_below(KEYS - 600) : 1 + problem_below(300);
        uint32_t n = problem_below(3)   ? 1
                     : problem_below(6) ? problem_below(9)
                                        : problem_below(150);
        n = n < keys ? n : keys;
        f->encoder_lens[i] = (int32_t)keys; /* for decoders too: the length */
        f->lens[i] = (int32_t)keys;
        f->causal[i] = problem_below(4) > 0;
        f->starts[i + 1] = f->starts[i] + (int32_t)n;
        next = fork_off(f, i, next, keys);
    }
    f->n_blocks = (uint32_t)next + 1;
    f->n_tokens = (uint32_t)f->starts[f->n_seqs];
    f->q = problem_values((size_t)f->n_tokens * f->config.n_heads * f->config.head_size + 1, 2);
    f->group =
        (struct quire_attention_batch_group){ .block_table = f->table, .max_blocks = f->per_seq };
    f->batch = (struct quire_attention_batch){ .struct_size = sizeof f->batch,
                                               .n_seqs = f->n_seqs,
                                               .query_start_loc = f->starts,
                                               .seq_lens = f->lens,
                                               .n_groups = 1,
                                               .groups = &f->group,
                                               .encoder_seq_lens = f->encoder_lens };
}

static void random_config(struct forest *f)
{
    const uint32_t kv_heads = 1 + problem_below(HEADS), ratio = 1 + problem_below(6);
    quire_attention_config_init(&f->config, sizeof f->config, kv_heads * ratio, kv_heads,
                                problem_below(8) ? 8 * (1 + problem_below(6))
                                                 : 1 + problem_below(20));
    f->config.v_head_size = problem_below(4) ? f->config.head_size : 8 * (1 + problem_below(5));
    f->config.compute = problem_below(2) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    f->config.kind = problem_below(4) ? QUIRE_ATTENTION_DECODER
                                      : (enum quire_attention_kind)(1 + problem_below(3));
    f->config.causal = f->config.kind == QUIRE_ATTENTION_DECODER && problem_below(5);
    f->config.window_left = problem_below(3) ? -1 : (int32_t)problem_below(KEYS);
    f->config.window_right = problem_below(5) ? -1 : (int32_t)problem_below(600);
    f->config.chunk_size = problem_below(5) ? 0 : 1 + problem_below(KEYS);
    f->config.logits_soft_cap = problem_below(3) ? 0 : 20;
    for (uint32_t h = 0; h < MAX_PROBLEM_HEADS; h++) {
        f->slopes[h] = problem_uniform(0, 0.01f);
        f->sinks[h] = problem_uniform(-2, 3);
    }
    for (size_t i = 0; i < sizeof f->relative / sizeof *f->relative; i++)
        f->relative[i] = problem_uniform(-2, 2);
    f->config.alibi_slopes = problem_below(3) ? NULL : f->slopes;
    f->config.sinks = problem_below(3) ? NULL : f->sinks;
    f->config.relative_bias = problem_below(4) ? NULL : f->relative;
    f->config.relative_range = problem_below(MAX_PROBLEM_RANGE + 1);
}

/* Bidirectional spans of new tokens in some sequences, as of images. */
static void add_spans(struct forest *f)
{
    for (uint32_t i = 0; i < f->n_seqs; i++) {
        const int32_t n = f->starts[i + 1] - f->starts[i], first = f->lens[i] - n;
        f->span_loc[i + 1] = f->span_loc[i];
        if (n < 2 || problem_below(2))
            continue;
        const struct quire_token_range span = { first + 1, f->lens[i] };
        f->spans[f->span_loc[i + 1]++] = span;
    }
    f->batch.span_loc = f->span_loc;
    f->batch.spans = f->spans;
}

/* Every second new token branches off the first. */
static void add_tree(struct forest *f)
{
    for (uint32_t i = 0; i < f->n_seqs; i++)
        for (int32_t t = f->starts[i], j = 0; t < f->starts[i + 1]; t++, j++)
            f->tree[t] = j % 2 ? 1 | (uint64_t)1 << j : ((uint64_t)2 << j) - 1;
    f->batch.tree_mask = f->tree;
}

static void forest_make(struct forest *f, enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype)
{
    static const uint32_t sizes[] = { 16, 32, 64, 64, 48, 80, 128, 512, 1024 };
    memset(f, 0, sizeof *f);
    f->n_seqs = 2 + problem_below(SEQS - 1);
    f->block_size = sizes[problem_below(9)];
    random_config(f);
    make_batch(f);
    make_pool(f, k_dtype, v_dtype);
}

static void quantise_queries(struct forest *f)
{
    const size_t n_rows = (size_t)f->n_tokens * f->config.n_heads;
    f->codes = malloc(n_rows * f->config.head_size + 1);
    f->q_scale = problem_values(n_rows, 0.03f);
    for (size_t i = 0; i < n_rows * f->config.head_size; i++)
        f->codes[i] = (int8_t)(f->q[i] * 60);
}

/* Half of the keys of each token, for all heads or for each. */
static void select_keys(struct forest *f)
{
    const uint32_t heads = problem_below(2) ? 1 : f->config.n_kv_heads;
    const size_t n = (size_t)f->n_tokens * heads * WORDS;
    f->selected = malloc((n + 1) * sizeof *f->selected);
    for (size_t i = 0; i < n; i++)
        f->selected[i] = (uint64_t)problem_random() << 32 | problem_random();
    f->selection = (struct qr_key_selection){ f->selected, WORDS, heads };
}

static void forest_free(struct forest *f)
{
    free(f->codes), free(f->q_scale), free(f->selected);
    quire_kv_destroy(f->kv);
    free(f->table), free(f->q);
}

static struct quire_plan *plan_of(const struct forest *f, uint32_t flags, uint32_t n_threads)
{
    const struct quire_plan_group group = { .config = &f->config };
    struct quire_plan *plan;
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = f->kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = f->n_tokens + 1,
                                              .max_seqs = f->n_seqs,
                                              .max_seq_len = KEYS,
                                              .n_threads = n_threads,
                                              .flags = flags,
                                              .max_spans = SEQS,
                                              .max_tree_tokens = SEQS * 200 };
    must(quire_plan_create(&params, &plan, &err));
    must(quire_plan_build(plan, &f->batch, &err));
    return plan;
}

static uint32_t cascades_of(const struct quire_plan *plan)
{
    struct quire_plan_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_plan_get_info(plan, 0, &info));
    return info.n_cascades;
}

static size_t out_floats(const struct forest *f)
{
    return (size_t)f->n_tokens * f->config.n_heads * v_size_of(f);
}

/* Results [n_tokens][heads][v size], then LSEs [n_tokens][heads]. */
static float *attend(const struct forest *f, struct quire_plan *plan, struct quire_threads *threads,
                     bool lse)
{
    const size_t n = out_floats(f), n_lse = (size_t)f->n_tokens * f->config.n_heads;
    float *out = calloc(n + n_lse + 1, sizeof *out);
    struct quire_attention_args args = {
        .struct_size = sizeof args, .q = f->q, .out = out, .lse = lse ? out + n : NULL
    };
    if (f->codes) {
        args.q = f->codes;
        args.q_dtype = QUIRE_KV_INT8;
        args.q_scale = f->q_scale;
    }
    for (int layer = 0; layer < 2; layer++) /* the call resets its counters */
        if (f->selected)
            qr_attention_part_with(plan, &args, &f->selection, NULL,
                                   &(struct quire_team){ .size = 1 });
        else
            must(quire_attention_forward(plan, &args, threads, &err));
    return out;
}

/* Compares plans that force, choose and forbid cascades. Returns the number of cascade items of
 * the first. */
static uint32_t check(const struct forest *f, struct quire_threads *const *threads,
                      uint32_t n_threads)
{
    static const uint32_t flags[] = { QUIRE_PLAN_CASCADE, 0, QUIRE_PLAN_CASCADE | QUIRE_PLAN_FAST,
                                      QUIRE_PLAN_FAST };
    const bool lse = problem_below(4);
    const size_t n = out_floats(f) + (size_t)f->n_tokens * f->config.n_heads;
    struct quire_plan *plain = plan_of(f, QUIRE_PLAN_NO_CASCADE, 1);
    float *want = attend(f, plain, NULL, lse);
    uint32_t n_cascades = 0;
    assert_int_equal(cascades_of(plain), 0);
    for (int i = 0; i < 4; i++) {
        struct quire_plan *plan = plan_of(f, flags[i], n_threads);
        float *got = attend(f, plan, threads[n_threads], lse);
        n_cascades = i == 0 ? cascades_of(plan) : n_cascades;
        if (flags[i] == QUIRE_PLAN_FAST)
            assert_int_equal(cascades_of(plan), 0);
        assert_same_bits(got, want, n);
        free(got);
        quire_plan_destroy(plan);
    }
    free(want);
    quire_plan_destroy(plain);
    return n_cascades;
}

static void random_batches(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    struct quire_threads *threads[8] = { NULL };
    uint32_t with = 0, without = 0;
    for (int i = 1; i < 4; i++)
        threads[counts[i]] = make_threads(counts[i]);
    problem_rng = 41;
    for (int round = 0; round < 60; round++) {
        struct forest f;
        const enum quire_kv_dtype k_dtype = problem_dtype();
        forest_make(&f, k_dtype, problem_below(5) ? k_dtype : problem_dtype());
        if (problem_below(6) == 0)
            f.batch.causal = f.causal;
        const bool decoder = f.config.kind == QUIRE_ATTENTION_DECODER;
        if (decoder && problem_below(4) == 0)
            add_spans(&f);
        else if (decoder && problem_below(6) == 0 && f.n_tokens < 64)
            add_tree(&f);
        if (problem_below(5) == 0)
            quantise_queries(&f);
        if (problem_below(3) == 0)
            select_keys(&f);
        *(check(&f, threads, counts[problem_below(4)]) ? &with : &without) += 1;
        forest_free(&f);
    }
    assert_true(with > 20 && without > 3); /* both must occur for the test to be meaningful */
    for (int i = 1; i < 4; i++)
        quire_threads_destroy(threads[counts[i]]);
}

/* Sixteen decodes of a common prompt: `shared` keys in shared blocks, then own blocks. */
static void make_siblings(struct forest *f, uint32_t n_seqs, uint32_t shared, uint32_t own)
{
    memset(f, 0, sizeof *f);
    f->block_size = 64;
    f->n_seqs = f->n_tokens = n_seqs;
    f->per_seq = KEYS / 64 + 1;
    quire_attention_config_init(&f->config, sizeof f->config, 4, 2, 32);
    f->table = malloc((size_t)n_seqs * f->per_seq * sizeof *f->table);
    int32_t next = (int32_t)shared / 64;
    for (uint32_t i = 0; i < n_seqs; i++) {
        f->lens[i] = (int32_t)(shared + own + i);
        f->starts[i + 1] = (int32_t)i + 1;
        for (uint32_t j = 0; j < f->per_seq; j++)
            f->table[i * f->per_seq + j] = j < shared / 64 ? (int32_t)j : next++;
    }
    f->n_blocks = (uint32_t)next;
    f->q = problem_values((size_t)n_seqs * 4 * 32, 2);
    f->group =
        (struct quire_attention_batch_group){ .block_table = f->table, .max_blocks = f->per_seq };
    f->batch = (struct quire_attention_batch){ .struct_size = sizeof f->batch,
                                               .n_seqs = n_seqs,
                                               .query_start_loc = f->starts,
                                               .seq_lens = f->lens,
                                               .n_groups = 1,
                                               .groups = &f->group };
    make_pool(f, QUIRE_KV_BF16, QUIRE_KV_BF16);
}

/* Shared spans are one work item per KV head; other spans are not in a cascade. */
static void pieces(void **state)
{
    (void)state;
    struct forest f;
    struct quire_plan_info info = { .struct_size = sizeof info };
    problem_rng = 42;
    make_siblings(&f, 12, 1024 + 64, 20);
    struct quire_plan *plan = plan_of(&f, 0, 1);
    assert_status(QUIRE_OK, quire_plan_get_info(plan, 0, &info));
    assert_int_equal(info.n_cascades, 2);       /* one per KV head: two spans of twelve */
    assert_int_equal(info.n_items, 2 + 2 * 12); /* and the third span of each sequence */
    assert_int_equal(info.n_splits, 2 * 12);
    quire_plan_destroy(plan);
    f.table[3 * f.per_seq + 9] = f.table[3 * f.per_seq + 40]; /* one differs in the second span */
    f.table[5 * f.per_seq] = f.table[5 * f.per_seq + 41];     /* another in the first span */
    plan = plan_of(&f, 0, 1);
    /* first span: all but 5; second span: all but 3 */
    assert_int_equal(cascades_of(plan), 2 * 2);
    quire_plan_destroy(plan);
    f.config.window_left = 590; /* from 517 .. on: only part of the second span */
    plan = plan_of(&f, QUIRE_PLAN_CASCADE, 1);
    assert_int_equal(cascades_of(plan), 0);
    quire_plan_destroy(plan);
    f.config.window_left = 610; /* from 497 .. 508 on: all of the second span */
    plan = plan_of(&f, QUIRE_PLAN_CASCADE, 1);
    assert_int_equal(cascades_of(plan), 2);
    quire_plan_destroy(plan);
    forest_free(&f);
}

/* New tables may share other blocks. */
static void new_tables(void **state)
{
    (void)state;
    struct forest f;
    problem_rng = 43;
    make_siblings(&f, 6, 1536, 100);
    struct quire_plan *plan = plan_of(&f, 0, 1), *plain;
    int32_t *other = malloc((size_t)6 * f.per_seq * sizeof *other);
    memcpy(other, f.table, (size_t)6 * f.per_seq * sizeof *other);
    /* two sets of sequences: the second in blocks beyond the end of sequence 3 */
    for (uint32_t i = 3; i < 6; i++)
        for (uint32_t j = 0; j < 1536 / 64; j++)
            other[i * f.per_seq + j] = f.table[3 * f.per_seq + 26 + j];
    assert_int_equal(cascades_of(plan), 2);
    f.group.block_table = other;
    must(quire_plan_set_tables(plan, 0, &f.group, &err));
    assert_int_equal(cascades_of(plan), 4);
    plain = plan_of(&f, QUIRE_PLAN_NO_CASCADE, 1);
    float *want = attend(&f, plain, NULL, true), *got = attend(&f, plan, NULL, true);
    assert_same_bits(got, want, out_floats(&f) + (size_t)f.n_tokens * 4);
    free(want), free(got), free(other);
    quire_plan_destroy(plan);
    quire_plan_destroy(plain);
    forest_free(&f);
}

/* Members with many rows: as many per cascade as fit into one tile. */
static void crowds(void **state)
{
    (void)state;
    struct quire_threads *threads[8] = { NULL };
    const struct qr_kernels *kernels;
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &kernels, NULL));
    threads[7] = make_threads(7);
    problem_rng = 44;
    for (uint32_t n = 2; n <= SEQS; n += 4)
        for (uint32_t tokens = 1; tokens <= 53; tokens += 13) {
            struct forest f;
            make_siblings(&f, n, 1024 + 512, 700);
            free(f.q);
            for (uint32_t i = 0; i < n; i++)
                f.starts[i + 1] = f.starts[i] + (int32_t)tokens;
            f.n_tokens = n * tokens;
            f.q = problem_values((size_t)f.n_tokens * 4 * 32, 2);
            const uint32_t n_cascades = check(&f, threads, 7);
            assert_true(tokens * 2 * 2 <= (uint32_t)kernels->attn_tile_rows ? n_cascades >= 2
                                                                            : n_cascades == 0);
            forest_free(&f);
        }
    quire_threads_destroy(threads[7]);
}

/* Sparse block lists disable cascades. */
static void with_block_lists(void **state)
{
    (void)state;
    struct forest f;
    problem_rng = 45;
    make_siblings(&f, 4, 1024, 30);
    static const int32_t blocks[] = { 0, 3, 16, 17 };
    struct quire_sparse_list lists[4 * 2];
    for (int i = 0; i < 8; i++)
        lists[i] = (struct quire_sparse_list){ blocks, 4 };
    const struct quire_sparse_list *const sparse[] = { lists };
    const struct quire_plan_group group = { .config = &f.config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = f.kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = 4,
                                              .max_seqs = 4,
                                              .max_seq_len = KEYS,
                                              .n_threads = 1,
                                              .flags = QUIRE_PLAN_CASCADE,
                                              .max_sparse_blocks = 64 };
    struct quire_plan *plan;
    must(quire_plan_create(&params, &plan, &err));
    must(quire_plan_build(plan, &f.batch, &err));
    assert_int_equal(cascades_of(plan), 2);
    f.batch.sparse = sparse;
    must(quire_plan_build(plan, &f.batch, &err));
    assert_int_equal(cascades_of(plan), 0);
    quire_plan_destroy(plan);
    forest_free(&f);
}

static void bad_flags(void **state)
{
    (void)state;
    struct fixture f;
    struct quire_plan *plan;
    setup(&f);
    f.params.flags = QUIRE_PLAN_CASCADE | QUIRE_PLAN_NO_CASCADE;
    assert_refused(QUIRE_E_INVALID_ARG, "flags", quire_plan_create(&f.params, &plan, &err));
    assert_null(plan);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches),   cmocka_unit_test(pieces),
        cmocka_unit_test(new_tables),       cmocka_unit_test(crowds),
        cmocka_unit_test(with_block_lists), cmocka_unit_test(bad_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
