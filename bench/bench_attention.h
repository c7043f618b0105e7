/* SPDX-License-Identifier: Apache-2.0 */
/* bench_attention.h - one attention case: keys and values, a plan, queries. */
#ifndef QUIRE_BENCH_BENCH_ATTENTION_H
#define QUIRE_BENCH_BENCH_ATTENTION_H
#include "bench_cache.h"
#include <quire/attention_dense.h>

/* Attention of a well-known model. */
struct attention_shape {
    const char *name;
    uint32_t heads, kv_heads, head_size;
    uint32_t window; /* keys a query sees, 0 = all */
    float soft_cap;
    bool alibi, sinks;
};

/* How the keys are held and read. */
enum attention_path {
    ATTENTION_PAGED,   /* in a cache, each sequence its own */
    ATTENTION_PLAIN,   /* in a cache, `shared` of them in blocks of all sequences, read for each */
    ATTENTION_CASCADE, /* the same, read once where the plan finds that it pays */
    ATTENTION_DENSE,   /* in plain rows, packed by every call */
};

/* Sequences of a step: each has its own length, and n_query new tokens at its end. */
struct attention_case {
    const struct attention_shape *shape;
    struct quire_attention_config config;
    enum quire_kv_dtype k_type, v_type;
    uint32_t n_seqs, n_query, n_layers, layer;
    int32_t *starts, *lens; /* [n_seqs + 1], [n_seqs] */
    float *slopes, *sinks;  /* [heads] or NULL */
    float *q, *out;         /* [n_seqs * n_query][heads][head_size] */
    enum attention_path path;
    uint32_t shared; /* leading keys that all sequences share, whole blocks */
    struct bench_tables tables;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct quire_dense *dense;     /* or this, in place of the three */
    float *k, *v;                  /* [keys][kv_heads][head_size] */
    struct quire_threads *threads; /* borrowed */
};

/* Keys that a query at a position sees. */
uint32_t attention_visible(const struct attention_case *c, uint32_t position);

/* Largest difference of sampled rows of c->out (of the layer before c->layer) to sums in double over the keys and
 * values as the cache holds them, relative to their root mean square. NaN when memory is short. */
double attention_error(const struct attention_case *c);

#endif
