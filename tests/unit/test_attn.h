/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn.h - attention problems for tests: sequences with random queries, keys and values,
 * run in many variants. */
#ifndef QUIRE_TEST_ATTN_H
#define QUIRE_TEST_ATTN_H
#include "quire_cmocka.h"
#include <math.h>
#include <quire/attention.h>
#include <quire/cpu.h>

enum {
    MAX_PROBLEM_SEQS = 8,
    MAX_PROBLEM_HEADS = 32,
    MAX_PROBLEM_RANGE = 100,
    MAX_PROBLEM_SPANS = 4,
    MAX_PROBLEM_TREE = 64,
    MAX_PROBLEM_LISTS = 4, /* KV heads of a problem with sparse block lists */
    PROBLEM_LIST_BLOCK = 192,
    MAX_PROBLEM_LIST = 12
};

static uint64_t problem_rng = 1;
static inline uint32_t problem_random(void)
{
    uint64_t z = problem_rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 16);
}
static inline uint32_t problem_below(uint32_t n) { return problem_random() % n; }

/* Any KV dtype that has no condition on head sizes. Tests of int4: test_attn_int4.c. */
static inline enum quire_kv_dtype problem_dtype(void)
{
    return (enum quire_kv_dtype)problem_below(QUIRE_KV_INT4);
}
static inline float problem_uniform(float lo, float hi)
{
    return lo + (hi - lo) * (float)(problem_random() & 0xffffff) / 16777216.0f;
}

/* Sequences and a layer. Row `pos` of sequence s has index first[s] + pos in q and in results;
 * key `pos` has index key_first[s] + pos in k and v. The indices are equal except in cross
 * attention. */
struct problem {
    struct quire_attention_config config;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t rotation; /* QUIRE_KV_ROTATE_K, QUIRE_KV_ROTATE_V */
    float k_scale, v_scale;
    uint32_t n_seqs, n_rows;
    uint32_t len[MAX_PROBLEM_SEQS], first[MAX_PROBLEM_SEQS];
    uint32_t n_keys, key_len[MAX_PROBLEM_SEQS], key_first[MAX_PROBLEM_SEQS];
    float *q;     /* [n_rows][heads][size] */
    float *k, *v; /* [n_keys][heads][size] */
    float slopes[MAX_PROBLEM_HEADS], sinks[MAX_PROBLEM_HEADS];
    float relative[MAX_PROBLEM_HEADS * (2 * MAX_PROBLEM_RANGE + 1)];
    /* bidirectional spans, ascending */
    uint32_t n_spans[MAX_PROBLEM_SEQS];
    struct quire_token_range spans[MAX_PROBLEM_SEQS][MAX_PROBLEM_SPANS];
    /* the last n_tree tokens of each sequence form a tree; variants begin at its first token */
    bool has_tree;
    uint32_t n_tree[MAX_PROBLEM_SEQS];
    uint64_t tree[MAX_PROBLEM_SEQS][MAX_PROBLEM_TREE];
    /* sections of 192 keys that a KV head attends to; the block size must divide 192 */
    bool has_lists, listed[MAX_PROBLEM_SEQS][MAX_PROBLEM_LISTS][MAX_PROBLEM_LIST];
};

static inline uint32_t problem_v_size(const struct problem *s)
{
    return s->config.v_head_size ? s->config.v_head_size : s->config.head_size;
}

static inline float *problem_values(size_t n, float amplitude)
{
    float *x = malloc((n ? n : 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = problem_uniform(-amplitude, amplitude);
    return x;
}

/* Fills in lengths, data, slopes, sinks and biases. Configuration and dtypes must be set. */
static inline void problem_fill(struct problem *s, const uint32_t *lens, uint32_t n_seqs)
{
    s->n_seqs = n_seqs;
    s->n_rows = s->n_keys = 0;
    const struct quire_attention_config *c = &s->config;
    for (uint32_t i = 0; i < n_seqs; i++) {
        s->first[i] = s->n_rows;
        s->key_first[i] = s->n_keys;
        s->len[i] = s->key_len[i] = lens[i];
        if (c->kind == QUIRE_ATTENTION_CROSS)
            s->key_len[i] = problem_below(2 * lens[i] + 20);
        s->n_rows += s->len[i];
        s->n_keys += s->key_len[i];
    }
    s->q = problem_values((size_t)s->n_rows * c->n_heads * c->head_size, 2);
    s->k = problem_values((size_t)s->n_keys * c->n_kv_heads * c->head_size, 2);
    s->v = problem_values((size_t)s->n_keys * c->n_kv_heads * problem_v_size(s), 2);
    for (uint32_t h = 0; h < MAX_PROBLEM_HEADS; h++) {
        s->slopes[h] = problem_uniform(0, 0.25f);
        s->sinks[h] = problem_uniform(-2, 3);
    }
    for (size_t i = 0; i < sizeof s->relative / sizeof *s->relative; i++)
        s->relative[i] = problem_uniform(-2, 2);
}

static inline void problem_free(struct problem *s) { free(s->q), free(s->k), free(s->v); }

/* Whether some KV head attends to the section of 192 keys that contains key `at`. */
static inline bool problem_lists_key(const struct problem *s, uint32_t seq, uint32_t at)
{
    bool any = !s->has_lists;
    for (uint32_t h = 0; s->has_lists && h < s->config.n_kv_heads; h++)
        any |= s->listed[seq][h][at / PROBLEM_LIST_BLOCK];
    return any;
}

/* How a problem is run. Sequence i is in the batch if to[i] > from[i]: queries [from, to) and keys
 * [0, to), or its encoder's keys in cross attention. */
struct variant {
    const char *isa; /* NULL = best */
    uint32_t block_size, n_threads, n_plan_threads, flags;
    uint32_t from[MAX_PROBLEM_SEQS], to[MAX_PROBLEM_SEQS];
    bool reversed;    /* sequences in descending order in the batch */
    uint64_t shuffle; /* seed of the block ids; 0 = ascending */
    bool omit_freed;  /* tables omit blocks that fell out of the window, through first_block */
    bool no_lse;
    bool latent; /* latent group: V is the first elements of K; dtypes and scales are equal */
    struct quire_threads *threads; /* for n_threads > 1 */
};

static inline struct variant variant_whole(const struct problem *s)
{
    struct variant r = { .block_size = 64, .n_threads = 1, .n_plan_threads = 1 };
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        r.from[i] = s->has_tree ? s->len[i] - s->n_tree[i] : 0;
        r.to[i] = s->len[i];
    }
    return r;
}

/* Pool, plan, tables and batch of a run. */
struct testbed {
    bool latent;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    uint32_t n, seq[MAX_PROBLEM_SEQS], max_blocks, n_blocks;
    int32_t starts[MAX_PROBLEM_SEQS + 1], lens[MAX_PROBLEM_SEQS], key_lens[MAX_PROBLEM_SEQS];
    uint32_t first_block[MAX_PROBLEM_SEQS];
    int32_t *table;
    struct quire_attention_batch_group group;
    int32_t span_loc[MAX_PROBLEM_SEQS + 1];
    struct quire_token_range spans[MAX_PROBLEM_SEQS * MAX_PROBLEM_SPANS];
    uint64_t tree[MAX_PROBLEM_SEQS * MAX_PROBLEM_TREE];
    struct quire_sparse_list lists[MAX_PROBLEM_SEQS * MAX_PROBLEM_LISTS];
    const struct quire_sparse_list *sparse;
    int32_t *list_blocks;
    uint32_t n_list_blocks;
    struct quire_attention_batch batch;
};

#define must(call)                                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call) != QUIRE_OK)                                                                    \
            fail_msg("%s: %s %s", #call, quire_status_name(err.code), err.msg);                    \
    } while (0)

static inline struct quire_threads *make_threads(uint32_t n)
{
    struct quire_threads_params p;
    struct quire_threads *t;
    quire_threads_params_init(&p, sizeof p);
    p.backend = QUIRE_THREADS_PTHREAD;
    p.n_threads = n;
    must(quire_threads_create(&p, &t, &err));
    return t;
}

/* Fills the whole pool with 0xff: NaN in every dtype, for int8 through the row scales. */
static inline void testbed_poison(const struct testbed *st, const struct problem *s,
                                  uint32_t block_size)
{
    /* int4 is no type of tensors: NaN of f32 become groups with a scale of NaN */
    const enum quire_kv_dtype dtypes[] = { s->k_dtype == QUIRE_KV_INT4 ? QUIRE_KV_F32 : s->k_dtype,
                                           s->v_dtype == QUIRE_KV_INT4 ? QUIRE_KV_F32
                                                                       : s->v_dtype };
    if (!st->latent && (dtypes[0] != dtypes[1] || problem_v_size(s) != s->config.head_size))
        return; /* a plain tensor has one dtype and size */
    const size_t elem = dtypes[0] == QUIRE_KV_F32                                 ? 4
                        : dtypes[0] == QUIRE_KV_BF16 || dtypes[0] == QUIRE_KV_F16 ? 2
                                                                                  : 1;
    const size_t bytes =
        2 * (size_t)st->n_blocks * block_size * s->config.n_kv_heads * s->config.head_size * elem;
    int32_t *ids = malloc(st->n_blocks * sizeof *ids);
    const size_t n_scales = (size_t)st->n_blocks * block_size * s->config.n_kv_heads;
    void *plain = malloc(bytes);
    float *scales = malloc(2 * n_scales * sizeof *scales);
    memset(plain, 0xff, bytes);
    memset(scales, 0xff, 2 * n_scales * sizeof *scales);
    for (uint32_t i = 0; i < st->n_blocks; i++)
        ids[i] = (int32_t)i;
    struct quire_kv_plain_args args = { .struct_size = sizeof args,
                                        .blocks = ids,
                                        .n_blocks = st->n_blocks,
                                        .size = bytes,
                                        .layout = quire_kv_plain_split(
                                            dtypes[0], st->n_blocks, block_size,
                                            s->config.n_kv_heads, s->config.head_size),
                                        .k_scales = scales,
                                        .v_scales = scales + n_scales,
                                        .n_scales = n_scales };
    if (st->latent)
        args.layout.v_offset = 0;
    must(quire_kv_import(st->kv, &args, plain, &err));
    free(ids), free(plain), free(scales);
}

static inline void testbed_pool(struct testbed *st, const struct problem *s,
                                const struct variant *r)
{
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = s->config.n_kv_heads,
                                                 .head_size = s->config.head_size,
                                                 .v_head_size = problem_v_size(s),
                                                 .k_dtype = s->k_dtype,
                                                 .v_dtype = s->v_dtype,
                                                 .n_blocks = st->n_blocks,
                                                 .k_scale = &s->k_scale,
                                                 .v_scale = &s->v_scale,
                                                 .n_k_scales = 1,
                                                 .n_v_scales = r->latent ? 0 : 1,
                                                 .flags = s->rotation |
                                                          (r->latent ? QUIRE_KV_LATENT : 0) };
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = r->block_size, .groups = &group, .n_groups = 1
    };
    int32_t *ids = malloc(st->n_blocks * sizeof *ids);
    must(quire_kv_create(&config, &st->kv, &err));
    must(quire_kv_alloc(st->kv, 0, -1, st->n_blocks, ids, &err));
    free(ids);
    testbed_poison(st, s, r->block_size);
}

/* Assigns shuffled block ids and writes the keys that some query sees; the others stay NaN. */
static inline void testbed_tables(struct testbed *st, const struct problem *s,
                                  const struct variant *r)
{
    const uint32_t b = r->block_size;
    int32_t *ids = malloc(st->n_blocks * sizeof *ids);
    uint64_t rng = problem_rng;
    for (uint32_t i = 0; i < st->n_blocks; i++)
        ids[i] = (int32_t)i;
    if (r->shuffle) {
        problem_rng = r->shuffle;
        for (uint32_t i = st->n_blocks; i-- > 1;) {
            const uint32_t j = problem_below(i + 1);
            const int32_t t = ids[i];
            ids[i] = ids[j];
            ids[j] = t;
        }
    }
    problem_rng = rng;
    st->table = malloc((size_t)st->n * st->max_blocks * sizeof *st->table);
    for (uint32_t i = 0, next = 0; i < st->n; i++) {
        int32_t *row = st->table + (size_t)i * st->max_blocks;
        const uint32_t seq = st->seq[i],
                       window = s->config.window_left < 0 ? 0 : (uint32_t)s->config.window_left + 1;
        st->first_block[i] = r->omit_freed && s->config.kind == QUIRE_ATTENTION_DECODER
                                 ? quire_kv_first_block(b, window, r->from[seq])
                                 : 0;
        for (uint32_t j = 0; j < st->max_blocks; j++)
            row[j] = -7; /* must not be read */
        const uint32_t n_keys = (uint32_t)st->key_lens[i], n = (n_keys + b - 1) / b;
        int64_t *slots = malloc((n * b + 1) * sizeof *slots);
        for (uint32_t j = st->first_block[i]; j < n; j++)
            if (problem_lists_key(s, seq, j * b))
                row[j - st->first_block[i]] = ids[next++];
        for (uint32_t t = 0; t < n_keys; t++)
            slots[t] = t / b < st->first_block[i] || !problem_lists_key(s, seq, t)
                           ? QUIRE_SLOT_PAD
                           : (int64_t)row[t / b - st->first_block[i]] * b + t % b;
        const size_t at = (size_t)s->key_first[seq] * s->config.n_kv_heads;
        const struct quire_kv_write_args args = { .struct_size = sizeof args,
                                                  .dtype = QUIRE_KV_F32,
                                                  .k = s->k + at * s->config.head_size,
                                                  .v = r->latent ? NULL
                                                                 : s->v + at * problem_v_size(s),
                                                  .slot_mapping = slots,
                                                  .n_tokens = n_keys };
        must(quire_kv_write(st->kv, &args, NULL, &err));
        free(slots);
    }
    free(ids);
}

/* Fills in spans, trees and sparse block lists of the batch. */
static inline void testbed_masks(struct testbed *st, const struct problem *s,
                                 const struct variant *r)
{
    const uint32_t heads = s->config.n_kv_heads, parts = PROBLEM_LIST_BLOCK / r->block_size;
    if (s->has_lists)
        st->list_blocks =
            malloc((size_t)st->n * heads * MAX_PROBLEM_LIST * parts * sizeof(int32_t));
    for (uint32_t i = 0; i < st->n; i++) {
        const uint32_t seq = st->seq[i];
        st->span_loc[i + 1] = st->span_loc[i] + (int32_t)s->n_spans[seq];
        memcpy(st->spans + st->span_loc[i], s->spans[seq], s->n_spans[seq] * sizeof *st->spans);
        if (s->has_tree)
            memcpy(st->tree + st->starts[i], s->tree[seq], s->n_tree[seq] * sizeof *st->tree);
        for (uint32_t h = 0; s->has_lists && h < heads; h++) {
            struct quire_sparse_list *l = &st->lists[i * heads + h];
            int32_t *blocks = st->list_blocks + st->n_list_blocks;
            l->blocks = blocks;
            for (uint32_t j = 0; j < MAX_PROBLEM_LIST * parts; j++)
                if (s->listed[seq][h][j / parts])
                    blocks[l->n++] = (int32_t)j;
            st->n_list_blocks += l->n;
        }
    }
    st->sparse = st->lists;
}

static inline void testbed_open(struct testbed *st, const struct problem *s,
                                const struct variant *r)
{
    memset(st, 0, sizeof *st);
    st->latent = r->latent;
    uint32_t n_tokens = 0, longest = 1;
    st->n_blocks = 2; /* two stay unused */
    st->max_blocks = 1;
    for (uint32_t j = 0; j < s->n_seqs; j++) {
        const uint32_t i = r->reversed ? s->n_seqs - 1 - j : j;
        const uint32_t keys = s->config.kind == QUIRE_ATTENTION_CROSS ? s->key_len[i] : r->to[i];
        const uint32_t n = (keys + r->block_size - 1) / r->block_size;
        if (r->to[i] <= r->from[i] && s->len[i])
            continue;
        st->seq[st->n] = i;
        st->lens[st->n] = (int32_t)r->to[i];
        st->key_lens[st->n] = (int32_t)keys;
        n_tokens += r->to[i] - r->from[i];
        st->starts[++st->n] = (int32_t)n_tokens;
        st->n_blocks += n;
        st->max_blocks = n > st->max_blocks ? n : st->max_blocks;
        longest = r->to[i] > longest ? r->to[i] : longest;
        longest = keys > longest ? keys : longest;
    }
    testbed_pool(st, s, r);
    testbed_tables(st, s, r);
    testbed_masks(st, s, r);
    st->group = (struct quire_attention_batch_group){ .block_table = st->table,
                                                      .max_blocks = st->max_blocks,
                                                      .first_block =
                                                          r->omit_freed ? st->first_block : NULL };
    st->batch = (struct quire_attention_batch){ .struct_size = sizeof st->batch,
                                                .n_seqs = st->n,
                                                .query_start_loc = st->starts,
                                                .seq_lens = st->lens,
                                                .n_groups = 1,
                                                .groups = &st->group,
                                                .encoder_seq_lens = st->key_lens,
                                                .span_loc = st->span_loc,
                                                .spans = st->spans,
                                                .tree_mask = s->has_tree ? st->tree : NULL,
                                                .sparse = s->has_lists ? &st->sparse : NULL };
    const struct quire_plan_group group = { .config = &s->config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = st->kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = n_tokens ? n_tokens : 1,
                                              .max_seqs = st->n ? st->n : 1,
                                              .max_seq_len = longest,
                                              .max_spans = (uint32_t)st->span_loc[st->n],
                                              .max_tree_tokens = s->has_tree ? n_tokens : 0,
                                              .max_sparse_blocks = st->n_list_blocks + s->has_lists,
                                              .n_threads = r->n_plan_threads,
                                              .isa = r->isa,
                                              .flags = r->flags };
    must(quire_plan_create(&params, &st->plan, &err));
    must(quire_plan_build(st->plan, &st->batch, &err));
}

static inline void testbed_close(struct testbed *st)
{
    quire_plan_destroy(st->plan);
    quire_kv_destroy(st->kv);
    free(st->table);
    free(st->list_blocks);
}

/* Results of all rows of a problem; a run leaves the rows it does not compute unchanged. */
struct result {
    size_t n_out, n_lse;
    float *out, *lse; /* [n_rows][heads][v size], [n_rows][heads] */
};

static inline struct result result_new(const struct problem *s)
{
    struct result r = { .n_lse = (size_t)s->n_rows * s->config.n_heads };
    r.n_out = r.n_lse * problem_v_size(s);
    r.out = calloc(r.n_out + 1, sizeof *r.out);
    r.lse = calloc(r.n_lse + 1, sizeof *r.lse);
    return r;
}
static inline void result_free(struct result *r) { free(r->out), free(r->lse); }

/* Runs the batch and stores its rows in `into`. Strides exceed the row widths and q is
 * misaligned. */
static inline void run_testbed(struct testbed *st, const struct problem *s, const struct variant *r,
                               struct result *into)
{
    const struct quire_attention_config *c = &s->config;
    const size_t h = c->n_heads, d = c->head_size, dv = problem_v_size(s),
                 n = (size_t)st->starts[st->n];
    const size_t q_row = h * d + 5, o_row = h * (dv + 3);
    char *q_bytes = malloc((n * q_row + 1) * sizeof(float) + 1);
    float *out = malloc((n * o_row + 1) * sizeof *out), *lse = malloc((n * h + 1) * sizeof *lse);
    for (uint32_t i = 0; i < st->n; i++)
        for (int32_t t = st->starts[i]; t < st->starts[i + 1]; t++) {
            const size_t pos =
                (size_t)(st->lens[i] - (st->starts[i + 1] - t)) + s->first[st->seq[i]];
            memcpy(q_bytes + 1 + (size_t)t * q_row * sizeof(float), s->q + pos * h * d,
                   h * d * sizeof(float));
        }
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = (const float *)(const void *)(q_bytes + 1),
                                               .q_token_stride = q_row,
                                               .out = out,
                                               .out_token_stride = o_row,
                                               .out_head_stride = dv + 3,
                                               .lse = r->no_lse ? NULL : lse };
    must(quire_attention_forward(st->plan, &args, r->n_threads > 1 ? r->threads : NULL, &err));
    for (uint32_t i = 0; i < st->n; i++)
        for (int32_t t = st->starts[i]; t < st->starts[i + 1]; t++) {
            const size_t pos =
                (size_t)(st->lens[i] - (st->starts[i + 1] - t)) + s->first[st->seq[i]];
            for (size_t j = 0; j < h; j++)
                memcpy(into->out + (pos * h + j) * dv, out + (size_t)t * o_row + j * (dv + 3),
                       dv * sizeof *out);
            if (!r->no_lse)
                memcpy(into->lse + pos * h, lse + (size_t)t * h, h * sizeof *lse);
        }
    free(q_bytes), free(out), free(lse);
}

static inline void run_problem(const struct problem *s, const struct variant *r,
                               struct result *into)
{
    struct testbed st;
    testbed_open(&st, s, r);
    run_testbed(&st, s, r, into);
    testbed_close(&st);
}

#define assert_same_bits(a, b, n) assert_memory_equal(a, b, (n) * sizeof *(a))

/* Iterates over the levels usable on this CPU; NULL at the end. */
static inline const char *usable_level(int *i)
{
    for (const char *name; (name = quire_cpu_level_name((*i)++));)
        if (quire_cpu_level_usable(*i - 1))
            return name;
    return NULL;
}

/* Whether a level's bits differ from those of the others: AMX sums bf16 products in a different
 * order. */
static inline bool has_own_bits(const struct problem *s, const char *level)
{
    const bool exact_k = s->k_dtype == QUIRE_KV_F32 || s->k_dtype == QUIRE_KV_F16,
               exact_v = s->v_dtype == QUIRE_KV_F32 || s->v_dtype == QUIRE_KV_F16;
    return strcmp(level, "avx512_amx") == 0 && s->config.compute == QUIRE_COMPUTE_NATIVE &&
           !(exact_k && exact_v);
}
#endif
