/* SPDX-License-Identifier: Apache-2.0 */
/* scene.h - one random case: a layer, a cache format, sequences with their queries, keys and
 * values, and what the answer should be. Everything follows from (seed, number). */
#ifndef QUIRE_PROPERTY_SCENE_H
#define QUIRE_PROPERTY_SCENE_H
#include "random.h"
#include <quire/attention.h>

enum {
    MAX_SEQS = 6,
    MAX_HEADS = 64,
    MAX_KV_HEADS = 4,
    MAX_SPANS = 3,
    MAX_TREE = 64,
    MAX_PLACES = 84
};

/* A sequence. Its queries are its last n_new tokens; its keys are its own tokens, or its
 * encoder's. */
struct sequence {
    uint32_t len, n_new, n_keys;
    uint32_t row;    /* of its first query in q and in results */
    uint32_t key;    /* its first in k and v */
    uint32_t shared; /* leading keys that equal those of sequence 0 */
    bool causal;
    struct quire_token_range spans[MAX_SPANS];
    uint32_t n_spans;
    uint64_t tree[MAX_TREE];                  /* of each new token, if the scene has_tree */
    int32_t places[MAX_KV_HEADS][MAX_PLACES]; /* blocks, if the scene is_sparse */
    struct quire_sparse_list lists[MAX_KV_HEADS];
};

struct scene {
    uint64_t seed;
    uint32_t number;
    struct rng rng; /* for whoever runs the scene */

    struct quire_attention_config config;
    enum quire_kv_dtype k_dtype, v_dtype, write_dtype, q_dtype;
    uint32_t v_size, ratio;
    uint32_t block_size, n_layers, layer, n_groups, group;
    uint32_t n_k_scales, n_v_scales; /* of quire_kv_group_config */
    bool own_causal;                 /* the batch gives a flag for each sequence */
    bool latent;                     /* values are the first v_size elements of keys */
    bool has_spans, has_tree, is_sparse;
    int level;

    uint32_t n_seqs, n_rows, n_keys;
    struct sequence seqs[MAX_SEQS];

    float *q, *k, *v; /* [n_rows][heads][size], [n_keys][kv heads][size]; q exact in its type */
    float *q_scale;   /* [n_rows][heads] of int8 queries, else NULL */
    double *k_held, *v_held, max_v; /* what the cache should hold, as values */
    float *k_scale, *v_scale, *relative;
    float slopes[MAX_HEADS], sinks[MAX_HEADS];
};

/* What a scene must have; the rest is drawn. */
struct wish {
    int level;
    enum quire_attention_kind kind;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t head_size, block_size;
};

/* wish NULL: everything is drawn */
void scene_make(struct scene *s, uint64_t seed, uint32_t number, const struct wish *wish);
void scene_free(struct scene *s);
void scene_print(const struct scene *s);

/* Parts of scene_make, in data.c and masks.c. */
void masks_draw(struct scene *s, struct rng *r);
void data_draw(struct scene *s, struct rng *r);
float *data_values(struct rng *r, size_t n, float amplitude);

/* ---- oracle.c: the definition, in double */

/* Whether a query sees key j of its sequence. */
bool oracle_sees(const struct scene *s, uint32_t seq, uint32_t query, uint32_t kv_head, uint32_t j);

/* out [v_size] and the LSE of one query and head. */
void oracle_row(const struct scene *s, uint32_t seq, uint32_t query, uint32_t head, double *out,
                double *lse);

/* Queries and softmax weights are rounded to bf16. */
bool oracle_rounds_q(const struct scene *s);
bool oracle_rounds_p(const struct scene *s);

/* ---- number.c: storage types, by their definition */

/* Nearest value of the type, ties to even. Beyond the largest: infinite, or saturated for fp8. */
double number_round(enum quire_kv_dtype dtype, double x);
size_t number_size(enum quire_kv_dtype dtype);

/* Between a value that the type holds and its bytes, little endian. */
void number_encode(enum quire_kv_dtype dtype, double x, unsigned char *bytes);
double number_decode(enum quire_kv_dtype dtype, const unsigned char *bytes);

/* n values as bytes; the caller frees. */
void *number_rows(enum quire_kv_dtype dtype, const float *x, size_t n);

#endif
