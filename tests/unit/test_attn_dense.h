/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_dense.h - problems of test_attn.h as contiguous rows, for quire_attention_dense
 * tests. */
#ifndef QUIRE_TEST_ATTN_DENSE_H
#define QUIRE_TEST_ATTN_DENSE_H
#include "test_plan.h"
#include <quire/attention_dense.h>

/* Memory layouts of the rows of sequences. */
enum rows { PACKED, PADDED, HEADS_FIRST, N_ROWS };

/* K or V of a problem in some dtype and order. */
struct tensor {
    char *memory, *rows; /* the rows begin at an odd address */
    size_t token_stride, head_stride;
};

/* A problem and its dense batch. */
struct dense_scene {
    struct problem s;
    struct tensor k, v;
    uint32_t from[MAX_PROBLEM_SEQS]; /* first query row of each sequence */
    int32_t q_loc[MAX_PROBLEM_SEQS + 1], kv_loc[MAX_PROBLEM_SEQS + 1], kv_lens[MAX_PROBLEM_SEQS],
        lens[MAX_PROBLEM_SEQS];
    struct quire_dense_batch batch;
    struct quire_attention_args args; /* contiguous rows of q and out */
    float *q, *out, *lse;
};

/* Multiples of 1 / 32 are exact in every dtype here. */
static inline void make_exact(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rintf(x[i] * 32) / 32;
}

static inline void encode(char *dst, float x, enum quire_kv_dtype dtype)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dtype == QUIRE_KV_F32) {
        memcpy(dst, &x, sizeof x);
        return;
    }
    uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == QUIRE_KV_F16)
        half = (uint16_t)(x == 0 ? 0
                                 : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) |
                                       (bits >> 13 & 0x3ff));
    memcpy(dst, &half, sizeof half);
}

/* First row of sequence i. */
static inline int32_t first_row(const struct dense_scene *d, enum rows order, uint32_t i)
{
    uint32_t longest = 1;
    for (uint32_t j = 0; j < d->s.n_seqs; j++)
        longest = d->s.key_len[j] > longest ? d->s.key_len[j] : longest;
    if (order == PACKED)
        return (int32_t)d->s.key_first[i];
    if (order == PADDED) /* the last sequence comes first */
        return (int32_t)((d->s.n_seqs - 1 - i) * (longest + 7));
    return (int32_t)(i * d->s.config.n_kv_heads * longest);
}

static inline struct tensor lay_rows(const struct dense_scene *d, const float *values,
                                     uint32_t size, enum rows order, enum quire_kv_dtype dtype)
{
    const uint32_t heads = d->s.config.n_kv_heads, n = d->s.n_seqs;
    const size_t elem = dtype == QUIRE_KV_F32 ? 4 : 2;
    struct tensor t = { .head_stride = size + (order == PADDED ? 3 : 0) };
    t.token_stride = heads * t.head_stride + (order == PADDED ? 1 : 0);
    if (order == HEADS_FIRST) {
        t.token_stride = size;
        t.head_stride = (size_t)(n > 1 ? first_row(d, order, 1) : (int32_t)(d->s.n_keys * heads)) /
                        heads * size;
    }
    size_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const size_t row = (size_t)first_row(d, order, i) + d->s.key_len[i];
        end = row > end ? row : end;
    }
    const size_t bytes = (end * t.token_stride + heads * t.head_stride + size) * elem;
    t.memory = malloc(bytes + 1);
    t.rows = t.memory + 1;
    memset(t.memory, 0xff, bytes + 1);
    for (uint32_t i = 0; i < n; i++)
        for (size_t j = 0; j < (size_t)d->s.key_len[i] * heads * size; j++) {
            const size_t row = (size_t)first_row(d, order, i) + j / (heads * size),
                         head = j / size % heads;
            encode(t.rows + (row * t.token_stride + head * t.head_stride + j % size) * elem,
                   values[(size_t)d->s.key_first[i] * heads * size + j], dtype);
        }
    return t;
}

/* Builds the batch of a filled problem; the queries are the last part of every sequence. */
static inline void lay_scene(struct dense_scene *d, enum rows order, enum quire_kv_dtype dtype)
{
    const struct quire_attention_config *c = &d->s.config;
    const uint32_t n = d->s.n_seqs;
    const bool cross = c->kind == QUIRE_ATTENTION_CROSS;
    const size_t row = (size_t)c->n_heads * c->head_size;
    d->k = lay_rows(d, d->s.k, c->head_size, order, dtype);
    d->v = lay_rows(d, d->s.v, problem_v_size(&d->s), order, dtype);
    d->q = malloc(((size_t)d->s.n_rows * row + 1) * sizeof *d->q);
    d->q_loc[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_q = d->s.len[i] - d->from[i];
        memcpy(d->q + (size_t)d->q_loc[i] * row, d->s.q + (d->s.first[i] + d->from[i]) * row,
               n_q * row * sizeof *d->q);
        d->q_loc[i + 1] = d->q_loc[i] + (int32_t)n_q;
        d->kv_loc[i] = first_row(d, order, i);
        d->kv_lens[i] = (int32_t)d->s.key_len[i];
        d->lens[i] = (int32_t)d->s.len[i];
    }
    d->kv_loc[n] = order == PACKED ? (int32_t)d->s.n_keys : -1; /* not read otherwise */
    const size_t n_rows = (size_t)d->q_loc[n] * c->n_heads;
    d->out = malloc((n_rows * problem_v_size(&d->s) + 1) * sizeof *d->out);
    d->lse = malloc((n_rows + 1) * sizeof *d->lse);
    d->batch = (struct quire_dense_batch){ .struct_size = sizeof d->batch,
                                           .n_seqs = n,
                                           .query_start_loc = d->q_loc,
                                           .kv_start_loc = d->kv_loc,
                                           .kv_lens = order == PACKED ? NULL : d->kv_lens,
                                           .seq_lens = cross ? d->lens : NULL,
                                           .dtype = dtype,
                                           .k = d->k.rows,
                                           .v = d->v.rows };
    if (order != PACKED) {
        d->batch.k_token_stride = d->k.token_stride;
        d->batch.k_head_stride = d->k.head_stride;
        d->batch.v_token_stride = d->v.token_stride;
        d->batch.v_head_stride = d->v.head_stride;
    }
    d->args = (struct quire_attention_args){
        .struct_size = sizeof d->args, .q = d->q, .out = d->out, .lse = d->lse
    };
}

static inline void lift_scene(struct dense_scene *d)
{
    free(d->k.memory), free(d->v.memory), free(d->q), free(d->out), free(d->lse);
}

/* Results of paged attention for the same queries, in the order of d->out and d->lse. */
static inline void paged(const struct dense_scene *d, float *out, float *lse)
{
    const size_t heads = d->s.config.n_heads, width = heads * problem_v_size(&d->s);
    struct variant r = variant_whole(&d->s);
    struct result all = result_new(&d->s);
    memcpy(r.from, d->from, sizeof r.from);
    run_problem(&d->s, &r, &all);
    for (uint32_t i = 0; i < d->s.n_seqs; i++) {
        const size_t row = d->s.first[i] + d->from[i], n = (size_t)(d->q_loc[i + 1] - d->q_loc[i]);
        memcpy(out + (size_t)d->q_loc[i] * width, all.out + row * width, n * width * sizeof *out);
        memcpy(lse + (size_t)d->q_loc[i] * heads, all.lse + row * heads, n * heads * sizeof *lse);
    }
    result_free(&all);
}

static inline struct quire_dense_params params_of(const struct dense_scene *d, uint32_t n_threads)
{
    uint32_t longest = 1;
    for (uint32_t i = 0; i < d->s.n_seqs; i++) {
        longest = d->s.key_len[i] > longest ? d->s.key_len[i] : longest;
        longest = d->s.len[i] > longest ? d->s.len[i] : longest;
    }
    return (struct quire_dense_params){ .struct_size = sizeof(struct quire_dense_params),
                                        .dtype = d->s.k_dtype,
                                        .config = &d->s.config,
                                        .max_tokens = d->s.n_rows + 1,
                                        .max_kv_tokens = d->s.n_keys + 1,
                                        .max_seqs = MAX_PROBLEM_SEQS,
                                        .max_seq_len = longest,
                                        .n_threads = n_threads };
}

/* A small problem: two sequences of 40 and 70 keys, whose last 3 and 5 tokens are queries. */
static inline void small_scene(struct dense_scene *d, enum quire_attention_kind kind)
{
    static const uint32_t lens[] = { 40, 70 };
    *d = (struct dense_scene){ .from = { 37, 65 } };
    problem_rng = 32;
    d->s.k_scale = d->s.v_scale = 1;
    d->s.k_dtype = d->s.v_dtype = QUIRE_KV_BF16;
    quire_attention_config_init(&d->s.config, sizeof d->s.config, 4, 2, 16);
    d->s.config.kind = kind;
    d->s.config.causal = kind == QUIRE_ATTENTION_DECODER;
    problem_fill(&d->s, lens, 2);
    make_exact(d->s.k, (size_t)d->s.n_keys * 2 * 16);
    make_exact(d->s.v, (size_t)d->s.n_keys * 2 * 16);
    lay_scene(d, PACKED, QUIRE_KV_F32);
}

static inline void small_free(struct dense_scene *d)
{
    lift_scene(d);
    problem_free(&d->s);
}

#endif
