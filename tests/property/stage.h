/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - runs a scene through the library in one way of many. */
#ifndef QUIRE_PROPERTY_STAGE_H
#define QUIRE_PROPERTY_STAGE_H
#include "scene.h"

/* A way of running a scene. None of it may change a bit of the result. */
struct way {
    int level;
    uint32_t block_size, n_threads, plan_threads, flags;
    uint64_t shuffle; /* of block ids and strides */
    bool reversed;    /* sequences in falling order */
    bool give_up;     /* blocks before the first visible key are in no table */
    bool share;       /* sequences with the same first keys share whole blocks */
    bool strided;     /* q, out and lse with gaps, on odd addresses */
    bool no_lse;
    bool layer_config;             /* the configuration comes with the call, the plan has another */
    bool wide_q;                   /* bf16 and f16 queries as f32 */
    enum quire_kv_dtype out_dtype; /* other than f32 changes the result: x / out_scale, rounded */
    float out_scale;
};

/* Rows of a scene; out [n_rows][heads][v_size], lse [n_rows][heads]. Rows not computed are 0xee. */
struct result {
    float *out, *lse;
    size_t n_out, n_lse;
};

/* Queries [from, to) of each sequence, counted from its first new token. */
struct part {
    uint32_t from[MAX_SEQS], to[MAX_SEQS];
};

/* Cache, plan and tables of a scene that is being run. */
struct stage {
    const struct scene *scene;
    struct way way;
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

struct way way_plain(const struct scene *s);
struct part part_whole(const struct scene *s);
struct result result_new(const struct scene *s);
void result_free(struct result *r);

/* All return false after failure() was told why. */
bool stage_open(struct stage *st, const struct scene *s, const struct way *way);
bool stage_write(struct stage *st, uint32_t seq, uint32_t from, uint32_t to); /* keys */
bool stage_write_all(struct stage *st);
bool stage_run(struct stage *st, const struct part *part, struct result *r);
void stage_close(struct stage *st);
uint32_t stage_blocks(const struct stage *st, uint32_t keys); /* that hold so many */
bool stage_batch(struct stage *st, const struct part *part);  /* batch.c: builds the plan */

/* Open, write, run, close. */
bool run_scene(const struct scene *s, const struct way *way, const struct part *part,
               struct result *r);

/* Says what went wrong with the scene at hand; returns false. */
bool failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the scene with what failure() was told. */
void report(const struct scene *s, const char *check);

/* Plans that divided a query tile, or read keys once for several sequences. */
extern struct plan_counts {
    uint32_t split, cascade;
} plans;

/* Threads for teams of n, made once. */
struct quire_threads *team_of(uint32_t n);

#endif
