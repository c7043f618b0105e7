/* SPDX-License-Identifier: Apache-2.0 */
/* testbed.h - runs a problem through the library in one of many variants. */
#ifndef QUIRE_PROPERTY_TESTBED_H
#define QUIRE_PROPERTY_TESTBED_H
#include "problem.h"

/* How a problem is run. No field except out_dtype and cp_... may change a bit of the result. */
struct variant {
    int level;
    uint32_t block_size, n_threads, plan_threads, flags;
    uint64_t shuffle; /* of block ids and strides */
    bool reversed;    /* sequences in descending order */
    bool omit_freed;  /* tables omit the blocks before the first visible key */
    bool share;       /* sequences with the same first keys share whole blocks */
    bool strided;     /* q, out and lse with gaps, misaligned */
    bool no_lse;
    bool layer_config; /* the call passes the configuration; the plan has a different one */
    bool f32_q;        /* bf16 and f16 queries passed as f32 */
    uint32_t cp_world, cp_rank, cp_interleave; /* the cache holds one rank's keys; 0: all keys */
    enum quire_kv_dtype out_dtype;             /* types other than f32: x / out_scale, rounded */
    float out_scale;
};

/* Rows of a problem; out [n_rows][heads][v_size], lse [n_rows][heads]. Rows not computed are
 * 0xee. */
struct result {
    float *out, *lse;
    size_t n_out, n_lse;
};

/* Queries [from, to) of each sequence, counted from its first new token. */
struct part {
    uint32_t from[MAX_SEQS], to[MAX_SEQS];
};

/* Cache, plan, tables and batch of a run. */
struct testbed {
    const struct problem *problem;
    struct variant variant;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct quire_attention_config plan_config;
    uint32_t n_blocks, max_blocks;
    int32_t *ids[MAX_SEQS]; /* blocks of each sequence */
    uint32_t first_block[MAX_SEQS];
    /* the batch */
    uint32_t n, order[MAX_SEQS], rows;
    int32_t starts[MAX_SEQS + 1], lens[MAX_SEQS], encoder_lens[MAX_SEQS];
    uint32_t batch_first_block[MAX_SEQS];
    bool causal[MAX_SEQS];
    int32_t *table;
    int32_t span_loc[MAX_SEQS + 1];
    struct quire_token_range spans[MAX_SEQS * MAX_SPANS];
    uint64_t *tree;
    struct quire_sparse_list *lists;
};

#define must(call)                                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call) != QUIRE_OK)                                                                    \
            return failure("%s: %s %s", #call, quire_status_name(err.code), err.msg);              \
    } while (0)

struct variant variant_default(const struct problem *s);
struct part part_whole(const struct problem *s);
struct result result_new(const struct problem *s);
void result_free(struct result *r);

/* All return false after reporting the reason to failure(). */
bool testbed_open(struct testbed *st, const struct problem *s, const struct variant *variant);
bool testbed_write(struct testbed *st, uint32_t seq, uint32_t from, uint32_t to); /* keys */
bool testbed_write_all(struct testbed *st);
bool testbed_run(struct testbed *st, const struct part *part, struct result *r);
void testbed_close(struct testbed *st);
uint32_t testbed_blocks(const struct testbed *st,
                        uint32_t keys); /* number of blocks for so many keys */
bool testbed_batch(struct testbed *st, const struct part *part); /* batch.c: builds the plan */

/* Open, write, run, close. */
bool run_problem(const struct problem *s, const struct variant *variant, const struct part *part,
                 struct result *r);

/* Records an error message of the current problem. Returns false. */
bool failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the problem and the recorded messages. */
void report(const struct problem *s, const char *check);

/* Counts of plans with split query tiles and with cascades. */
extern struct plan_counts {
    uint32_t split, cascade;
} plans;

/* Thread team of n members, created on first use. */
struct quire_threads *team_of(uint32_t n);

#endif
