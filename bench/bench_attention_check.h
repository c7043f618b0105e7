/* SPDX-License-Identifier: Apache-2.0 */
/* bench_attention_check.h - one attention case, and its error against double precision. */
#ifndef QUIRE_BENCH_BENCH_ATTENTION_CHECK_H
#define QUIRE_BENCH_BENCH_ATTENTION_CHECK_H
#include "bench_cache.h"
#include <quire/attention_dense.h>

/* Attention shape of a published model. */
struct attention_shape {
    const char *name;
    uint32_t heads, kv_heads, head_size;
    uint32_t window; /* visible keys per query, 0 = all */
    float soft_cap;
    bool alibi, sinks;
};

/* Where keys and values are stored and how they are read. */
enum attention_path {
    ATTENTION_PAGED,   /* paged cache, no block is shared */
    ATTENTION_PLAIN,   /* paged cache, shared prefix, cascade disabled: read once per sequence */
    ATTENTION_CASCADE, /* paged cache, shared prefix, read once where the plan selects cascade */
    ATTENTION_DENSE,   /* contiguous f32 rows, packed by every call */
};

/* A batch: each sequence has its own length and n_query query tokens at its end. */
struct attention_case {
    const struct attention_shape *shape;
    struct quire_attention_config config;
    enum quire_kv_dtype k_type, v_type;
    uint32_t n_seqs, n_query, n_layers, layer;
    int32_t *starts, *lens; /* [n_seqs + 1], [n_seqs] */
    float *slopes, *sinks;  /* [heads] or NULL */
    float *q, *out;         /* [n_seqs * n_query][heads][head_size] */
    enum attention_path path;
    uint32_t shared; /* length of the shared prefix in tokens, whole blocks */
    struct bench_tables tables;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct quire_dense *dense;     /* ATTENTION_DENSE: replaces tables, kv and plan */
    float *k, *v;                  /* [keys][kv_heads][head_size] */
    struct quire_threads *threads; /* borrowed */
};

/* Number of keys visible to a query at `position`. */
uint32_t attention_visible(const struct attention_case *c, uint32_t position);

/* Largest error of sampled rows of c->out against double-precision attention over the keys and
 * values as stored in the cache, relative to the RMS of the reference. c->out is the output of
 * the layer before c->layer. NaN when out of memory. */
double attention_error(const struct attention_case *c);

#endif
