/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - a random attention problem: a layer, a cache format, sequences with queries, keys and
 * values, and the oracle. Everything is a function of (seed, number). */
#ifndef QUIRE_PROPERTY_PROBLEM_H
#define QUIRE_PROPERTY_PROBLEM_H
#include "random.h"
#include <quire/attention.h>

enum {
    MAX_SEQS = 6,
    MAX_HEADS = 64,
    MAX_KV_HEADS = 4,
    MAX_SPANS = 3,
    MAX_TREE = 512,
    TREE_WORDS = MAX_TREE / 64,
    MAX_PLACES = 84
};

/* A sequence. Its queries are its last n_new tokens; its keys are its own tokens or its
 * encoder's. */
struct sequence {
    uint32_t len, n_new, n_keys;
    uint32_t row;    /* of its first query in q and in results */
    uint32_t key;    /* index of its first key in k and v */
    uint32_t shared; /* leading keys that are equal to those of sequence 0 */
    bool causal;
    struct quire_token_range spans[MAX_SPANS];
    uint32_t n_spans;
    uint64_t tree[MAX_TREE][TREE_WORDS];      /* mask of each new token, if the problem has_tree */
    int32_t places[MAX_KV_HEADS][MAX_PLACES]; /* listed blocks, if the problem is_sparse */
    struct quire_sparse_list lists[MAX_KV_HEADS];
};

struct problem {
    uint64_t seed;
    uint32_t number;
    struct rng rng; /* for the checks */

    struct quire_attention_config config;
    enum quire_kv_dtype k_dtype, v_dtype, write_dtype, q_dtype;
    uint32_t v_size, ratio;
    uint32_t block_size, n_layers, layer, n_groups, group;
    uint32_t n_k_scales, n_v_scales; /* of quire_kv_group_config */
    uint32_t rotation;               /* QUIRE_KV_ROTATE_K, QUIRE_KV_ROTATE_V */
    bool exact;                      /* options are given, not drawn */
    uint32_t options;
    bool own_causal; /* the batch has a causal flag per sequence */
    bool latent;     /* values are the first v_size elements of keys */
    bool has_spans, has_tree, is_sparse;
    uint32_t tree_words; /* per token in a batch */
    int level;

    uint32_t n_seqs, n_rows, n_keys;
    struct sequence seqs[MAX_SEQS];

    float *q, *k, *v; /* [n_rows][heads][size], [n_keys][kv heads][size]; q exact in its type */
    float *q_scale;   /* [n_rows][heads] of int8 queries, else NULL */
    double *k_cached, *v_cached, max_v; /* expected values in the cache */
    float *k_scale, *v_scale, *relative;
    float slopes[MAX_HEADS], sinks[MAX_HEADS];
    uint16_t half_sinks[MAX_HEADS]; /* the same values, where the configuration has typed_sinks */
};

/* Options of a problem that the walk turns on in pairs. */
enum option {
    WINDOW_LEFT,
    WINDOW_RIGHT,
    NOT_CAUSAL,
    OWN_CAUSAL,
    CHUNK,
    SPANS,
    TREE,
    SPARSE,
    SOFT_CAP,
    SLOPES,
    RELATIVE,
    SINKS,
    HALF_SINKS,
    COMPUTE_F32,
    Q_BF16,
    Q_F16,
    Q_INT8,
    LATENT,
    N_OPTIONS
};

/* Fixed properties of a problem; the rest is drawn. */
struct constraints {
    bool exact;       /* no option is on but those of `options` */
    uint32_t options; /* bits 1 << enum option */
    int level;
    enum quire_attention_kind kind;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t head_size, block_size;
    uint32_t tree_tokens; /* new tokens of every sequence, in a tree; 0: drawn */
};

/* Values of a row of n elements after an int4 cache has stored it, transformed if rotated. */
void int4_round(double *cached, const float *row, uint32_t n, bool rotated);

/* Draws a problem. With constraints NULL everything is random. */
void problem_make(struct problem *s, uint64_t seed, uint32_t number,
                  const struct constraints *constraints);
void problem_free(struct problem *s);
void problem_print(const struct problem *s);

/* Parts of problem_make in data.c and masks.c. */
void masks_draw(struct problem *s, struct rng *r);
void data_draw(struct problem *s, struct rng *r);
float *data_values(struct rng *r, size_t n, float amplitude);

/* ---- oracle.c: the definition in double precision */

/* Whether the problem's tree mask has an effect: encoders ignore it, and cross attention takes only
 * the positions of queries from it. */
bool oracle_tree_positions(const struct problem *s);
bool oracle_tree_masks(const struct problem *s);

/* Whether a query sees key j of its sequence. */
bool oracle_sees(const struct problem *s, uint32_t seq, uint32_t query, uint32_t kv_head,
                 uint32_t j);

/* Computes out [v_size] and the LSE of one query and head. */
void oracle_row(const struct problem *s, uint32_t seq, uint32_t query, uint32_t head, double *out,
                double *lse);

/* Whether queries, or softmax weights, are rounded to bf16. */
bool oracle_rounds_q(const struct problem *s);
/* Whether queries or weights are rounded to 8 bits, which the oracle does not do. */
bool oracle_has_8_bits(const struct problem *s);
bool oracle_rounds_p(const struct problem *s);

/* ---- number.c: storage types by their definition */

/* Nearest value of the type, ties to even. Overflow gives infinity, or saturates for fp8 and
 * int8. */
double number_round(enum quire_kv_dtype dtype, double x);
size_t number_size(enum quire_kv_dtype dtype);

/* Converts a value representable in the type to and from its bytes, little endian. */
void number_encode(enum quire_kv_dtype dtype, double x, unsigned char *bytes);
double number_decode(enum quire_kv_dtype dtype, const unsigned char *bytes);

/* Encodes n values; the caller frees the result. */
void *number_rows(enum quire_kv_dtype dtype, const float *x, size_t n);

#endif
