/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - who computes what in a step.
 *
 * The query rows of a sequence and KV head are its (token, query head of the group) pairs in that
 * order: row token * ratio + head. A query tile is a run of rows; the keys it sees are cut into
 * spans of 512 at absolute positions. An item is a run of spans of one tile for one worker. A tile
 * with several items has a join: each span beyond its first item leaves its state in a slot of the
 * partials, and whoever arrives last adds the slots up in span order. So the sum is that of a
 * single worker, bit for bit. */
#ifndef QR_ATTENTION_PLAN_H
#define QR_ATTENTION_PLAN_H
#include "attention/config.h"
#include "attention/keys.h"
#include "kv/types.h"

struct qr_plan_item {
    uint32_t seq, kv_head;
    uint32_t row, n_rows;
    uint32_t span, end_span; /* none: the rows see no key */
    uint32_t slot; /* of the join: where its first span goes; slot 0 takes the whole first item */
    int32_t join;  /* -1: the item has its tile alone */
    uint32_t cascade; /* whose rows it has, of one KV head, in place of a tile; or none */
};

/* Items of similar cost, made one after another. */
struct qr_cost_run {
    uint32_t class, n; /* class: 0 = most costly */
};

struct qr_plan_join {
    uint32_t arrived; /* atomic; 0 between calls */
    uint32_t n_items, n_slots;
    size_t offset; /* floats into the partials */
};

/* Blocks of a sequence that its queries see: ids [count] of blocks first, first + 1, ... */
struct qr_plan_table {
    uint32_t first, count;
    size_t at; /* into blocks[] of the group */
    /* from the first to the last key that some query sees, whatever lists leave of them */
    struct qr_key_range keys;
};

struct qr_plan_group {
    struct quire_attention_config config;
    const struct qr_kernels *table;
    uint32_t kv_group, ratio; /* query heads per KV head */
    uint32_t tile_rows;       /* rows of a query tile at most */
    uint32_t v_width;         /* floats of an accumulator: value size rounded up to 16, or plain */
    uint32_t max_items, max_joins;
    size_t max_blocks;
    /* of the batch */
    uint32_t n_items, n_joins;
    struct qr_plan_table *tables;    /* [max_seqs] */
    struct qr_plan_table *next;      /* [max_seqs] of the batch that is checked */
    int32_t *blocks;                 /* [max_blocks] */
    bool sparse;                     /* the batch has block lists */
    struct quire_sparse_list *lists; /* [max_seqs][n_kv_heads]; NULL: made for none */
    int32_t *list_blocks;            /* [max_sparse_blocks] */
    struct qr_plan_item *items;      /* [max_items] as they were made */
    uint32_t *order;                 /* [max_items] of items: costly ones first */
    struct qr_plan_join *joins;      /* [max_joins] */
    /* cascade.h; none of it in a plan that has no cascades */
    uint32_t max_cascades, max_members, n_cascades, n_members;
    struct qr_cascade *cascades;       /* [max_cascades] */
    struct qr_cascade_member *members; /* [max_members] */
};

/* A worker's own memory, large enough for any item of any group. */
struct qr_plan_scratch {
    float *q, *acc, *part; /* [rows][head size], [rows][v_width] twice */
    float *acc_m, *acc_l, *acc_l_exact, *part_m, *part_l, *part_l_exact; /* [rows] */
    float *lanes, *lanes_exact;                                          /* [rows][16] */
    float *slope, *row_scale;                                            /* [rows] */
    float *slope_now;                                                    /* [chunk] */
    int64_t *distance;                                                   /* [chunk] */
    uint64_t *visible, *tree;                                            /* [rows] */
    uint32_t *lo, *hi, *pos;  /* [rows] keys a row sees, its position */
    const float **relative;   /* [rows] relative bias of its head */
    const float **bias_rows;  /* [chunk] rows of 64 values */
    float *bias;              /* [chunk][64] where these are no part of the relative bias */
    float *s;                 /* [chunk][64] */
    uint16_t *p;              /* [chunk][64] */
    uint16_t *k, *v;          /* a tile unpacked: [64][head size], [64][v_width] */
    float *k_scale, *v_scale; /* [64] scales of a tile's rows */
    float *row;               /* one row of q or out */
    void *raw;                /* the same in the caller's type */
};

struct quire_plan {
    const struct quire_allocator *allocator;
    const struct quire_kv_cache *kv;
    uint32_t n_groups, max_tokens, max_seqs, max_seq_len, n_threads, flags;
    uint32_t max_spans, max_tree_tokens, max_sparse_blocks;
    uint32_t n_seqs, n_tokens, max_query_len, batch_max_seq_len; /* of the batch */
    bool busy; /* atomic: being built or running */
    struct qr_plan_group *groups;
    struct qr_plan_seq *seqs; /* [max_seqs] */
    struct quire_token_range *spans; /* [max_spans] */
    uint64_t *tree;           /* [max_tree_tokens] */
    uint64_t *named; /* [blocks of the longest sequence / 64] those in some list, in one check */
    uint32_t *marks; /* [largest number of blocks]; see generation */
    struct qr_cost_run *runs; /* [largest max_items] of items while dividing work */
    uint32_t n_runs;
    uint32_t generation; /* a mark equal to it: the block was met in the check that runs now */
    struct qr_cascade_seq *cascade_seqs; /* [max_seqs] while cascades are looked for */
    uint32_t *cascade_leaders; /* [largest number of blocks] a sequence that has the block, maybe */
    float *partials;
    size_t partial_floats, cascade_floats; /* of which cascades may use the latter */
    unsigned char *scratch;                /* [n_threads][scratch_bytes] */
    size_t scratch_bytes, bytes;
    _Alignas(64) uint32_t next_item; /* atomic */
    _Alignas(64) uint32_t n_left;    /* atomic: members that are done */
};

enum { QR_PLAN_CHUNK = QR_MAX_ATTN_ROWS }; /* rows of one kernel call at most */

/* Marks the plan as in use; QUIRE_E_BUSY when it is. */
quire_status qr_plan_enter(struct quire_plan *plan, struct quire_error *err);
void qr_plan_leave(struct quire_plan *plan);

/* Blocks that a sequence and KV head attend to; NULL = all. Those of the next head follow. */
static inline const struct quire_sparse_list *qr_plan_list(const struct qr_plan_group *g,
                                                           uint32_t seq, uint32_t kv_head)
{
    return g->sparse ? &g->lists[(size_t)seq * g->config.n_kv_heads + kv_head] : NULL;
}

/* Another generation for marks: none of them is equal to it. */
uint32_t qr_plan_new_generation(struct quire_plan *plan);

/* Divides the work of the batch that the plan holds, for one group. */
void qr_plan_divide(struct quire_plan *plan, struct qr_plan_group *g);

/* Floats of a join's slot for a tile of n_rows: m, l, l_exact [n_rows], o [n_rows][v_width],
 * rounded up to a line. */
static inline size_t qr_plan_slot_floats(const struct qr_plan_group *g, uint32_t n_rows)
{
    return ((size_t)n_rows * (g->v_width + 3) + 15) / 16 * 16;
}

/* Where a worker's scratch lies. base NULL: only *bytes is meaningful. */
struct qr_plan_scratch qr_plan_scratch_at(const struct quire_plan *plan, unsigned char *base,
                                          size_t *bytes);

#endif
