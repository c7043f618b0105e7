/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - data structures of the attention module: masks, plan, work items, execution.
 *
 * The query rows of a sequence and KV head are its (token, query head of the GQA group) pairs in
 * that order: row token * gqa_ratio + head. A query tile is a range of rows. Its keys are cut into
 * spans of 512 at absolute positions. A work item is a range of spans of one tile for one thread.
 * A tile with several work items has a split-KV reduction: the first item accumulates its spans in
 * partial 0, every later span has a partial of its own, and the last thread to finish reduces the
 * partials in span order. The result is bit-identical to that of a single thread. */
#ifndef QR_ATTENTION_TYPES_H
#define QR_ATTENTION_TYPES_H
#include "base/handle.h"
#include "kernels/kernels.h"
#include "kv/key_shard.h"
#include "kv/types.h"
#include <quire/attention.h>
#include <stdbool.h>

/* ---- sequences and masks */

/* Keys [lo, hi); empty when lo == hi. */
struct qr_key_range {
    uint32_t lo, hi;
};

/* One sequence of the batch. */
struct qr_attn_seq {
    uint32_t first_token, n_tokens; /* rows of q: the last tokens of the sequence */
    uint32_t len;
    uint32_t encoder_len;         /* keys of its encoder */
    bool override_causal, causal; /* the sequence's own flag, valid if override_causal */
    uint32_t n_spans;
    const struct quire_token_range *spans; /* bidirectional spans, ascending */
    const uint64_t *tree;                  /* [n_tokens][tree_words] tree mask, or NULL */
    uint32_t tree_words;
    const uint32_t *depths; /* [n_tokens] set bits of each token's mask, less its own; with tree */
    struct qr_key_shard shard; /* of its keys, the part that the cache holds */
};

enum { QR_TREE_WORDS = 64 }; /* most words per token of a tree mask */

/* Visible keys of one query token: a range of cache slots and, for a sequence with a tree mask, new
 * tokens whose bits are set. The range excludes the new tokens then. */
struct qr_token_mask {
    uint32_t pos;
    struct qr_key_range range;
    struct qr_key_range drafted; /* hull of the new tokens that are seen by their bits */
};

/* ---- plan */

enum { QR_CASCADE_NONE = UINT32_MAX };

struct qr_work_item {
    uint32_t seq, kv_head;
    uint32_t row, n_rows;
    uint32_t span, end_span; /* empty: the rows see no key */
    uint32_t partial;  /* index of its first span's partial; 0 accumulates the whole first item */
    int32_t reduction; /* index, or -1: the tile is not split */
    uint32_t cascade;  /* index of the cascade whose rows replace a tile, or QR_CASCADE_NONE */
};

/* Run-length code of the cost classes of consecutive work items. */
struct qr_cost_run {
    uint32_t class, n; /* class 0 is the most expensive */
};

/* The split-KV reduction of one tile. */
struct qr_reduction {
    uint32_t n_done; /* finished work items; atomic, 0 between calls */
    uint32_t n_items, n_partials;
    size_t offset; /* floats from the start of the plan's partials */
};

/* Block table entries of one sequence that its queries use: blocks [first, first + count). */
struct qr_seq_blocks {
    uint32_t first, count;
    size_t offset;            /* of the first id in the group's block_ids */
    struct qr_key_range keys; /* hull of all visible keys, sparse block lists disregarded */
};

/* A cascade: a range of spans that several sequences hold in the same blocks, so that one work item
 * reads their keys once for all. Every query of these sequences sees every key of the range, and
 * the rows of one sequence and KV head fit into one query tile. The rows of a cascade are those of
 * its members, concatenated. Every member has one reduction per KV head, which combines the shared
 * spans with the other spans in span order: the bits are those of the sequence computed alone. */
struct qr_cascade {
    uint32_t first_member, n_members, n_rows;
    uint32_t span, end_span;
    uint32_t n_splits; /* work items per KV head */
};

/* Membership of a sequence in a cascade. */
struct qr_cascade_member {
    uint32_t seq;       /* QR_CASCADE_NONE: removed from the cascade */
    uint32_t cascade;   /* index */
    uint32_t next;      /* the sequence's membership with the next higher spans; QR_CASCADE_NONE */
    uint32_t reduction; /* of KV head 0; those of the other heads follow */
    uint32_t first_end; /* end of the sequence's first work item: earlier spans share partial 0 */
};

/* Node of one sequence in a set of sequences that hold one span in the same blocks. A set is a
 * linked list. */
struct qr_cascade_link {
    uint32_t leader;  /* first sequence; QR_CASCADE_NONE: not every query sees the whole span */
    uint32_t next;    /* next sequence */
    uint32_t last, n; /* of a leader: last sequence, number of sequences */
};

/* State of one sequence during cascade detection, which proceeds span by span. */
struct qr_cascade_seq {
    uint32_t begin, end;                /* spans that all its queries see entirely */
    uint32_t next;                      /* next sequence to examine */
    struct qr_cascade_link prev, now;   /* sets of the previous and the current span */
    uint32_t changed;                   /* of a leader: last span at which its set changed */
    uint32_t since;                     /* of a leader: first span of its set */
    uint32_t first_member, last_member; /* result: its memberships */
};

/* Kernels of one plan group and compute mode. fp8 and int8 tiles are unpacked to bf16 first or, for
 * few rows in native mode, multiplied in their 8-bit form. */
struct qr_attention_kernels {
    void (*qk)(const struct qr_attn_qk_args *a);
    void (*softmax)(const struct qr_attn_softmax_args *a);
    void (*pv)(const struct qr_attn_pv_args *a);
    void (*qk_8bit)(const struct qr_attn_qk_args *a); /* NULL: K is always unpacked */
    void (*pv_8bit)(const struct qr_attn_pv_args *a);
    void (*merge)(const struct qr_attn_merge_args *a);
    void (*unpack_k)(const struct qr_attn_unpack_args *a); /* NULL: K is not 8-bit */
    void (*unpack_v)(const struct qr_attn_unpack_args *a);
    void (*transpose)(const struct qr_attn_transpose_args *a); /* latent K tile to V */
    /* int4: in native mode qk and pv take the codes, and quantize_q gives the queries of qk; else
     * the codes are dequantized to bf16 by unpack_int4_k or unpack_int4_v */
    void (*quantize_q)(uint8_t *dst, const float *src, size_t n);
    void (*unpack_int4_k)(const struct qr_attn_unpack_int4_args *a);
    void (*unpack_int4_v)(const struct qr_attn_unpack_int4_args *a);
    bool v_int4; /* pv takes codes */
    /* Rounds queries to bf16; NULL: they stay f32. */
    size_t (*round_q)(uint16_t *dst, const float *src, float scale, size_t n);
    bool p_bf16;  /* softmax weights are rounded to bf16 */
    bool next_l2; /* of the arguments of qk and pv */
};

enum { QR_N_COMPUTE = 3 }; /* values of enum quire_compute */

struct qr_plan_group {
    struct quire_attention_config config;
    const struct qr_kernels *kernel_table;
    struct qr_attention_kernels *kernels; /* [QR_N_COMPUTE] */
    const struct qr_kv_group *kv;
    uint32_t kv_group;  /* index of kv */
    uint32_t gqa_ratio; /* query heads per KV head */
    uint32_t tile_rows; /* max rows of a query tile */
    uint32_t v_width;   /* accumulator floats: V head size rounded up to 16, exact for plain rows */
    uint32_t max_items, max_reductions;
    size_t max_blocks;
    /* of the batch */
    uint32_t n_items, n_reductions;
    struct qr_seq_blocks *seq_blocks;        /* [max_seqs] */
    struct qr_seq_blocks *staged_seq_blocks; /* [max_seqs] of the batch under validation */
    int32_t *block_ids;                      /* [max_blocks] */
    bool sparse;                             /* the batch has sparse block lists */
    /* [max_seqs][n_kv_heads]; NULL: plan without lists */
    struct quire_sparse_list *sparse_lists;
    int32_t *sparse_blocks;          /* [max_sparse_blocks] entries of the lists */
    struct qr_work_item *items;      /* [max_items] in order of creation */
    uint32_t *order;                 /* [max_items] item indices, expensive items first */
    struct qr_reduction *reductions; /* [max_reductions] */
    /* all 0 and NULL in a plan without cascades */
    uint32_t max_cascades, max_members, n_cascades, n_members;
    struct qr_cascade *cascades;       /* [max_cascades] */
    struct qr_cascade_member *members; /* [max_members] */
};

enum { QR_KERNEL_ROWS = QR_MAX_ATTN_ROWS }; /* max rows of one kernel call */

/* Scratch memory of one thread, large enough for any work item of any group. `call rows` are the
 * rows of one kernel call, at most QR_KERNEL_ROWS. */
struct qr_thread_scratch {
    float *q, *acc, *part; /* [rows][head size], [rows][v_width] twice */
    float *acc_m, *acc_l, *acc_l_exact, *part_m, *part_l, *part_l_exact; /* [rows] */
    float *lanes, *lanes_exact;                                          /* [rows][16] */
    float *slope, *row_scale;                                            /* [rows] */
    float *call_slope;                                                   /* [call rows] */
    int64_t *distance;                                                   /* [call rows] */
    uint64_t *visible;                                                   /* [rows] */
    uint64_t *tree;            /* [rows][tree_words of the sequence] new tokens that a row sees */
    bool *branch;              /* [rows] of a tree: positions do not follow from slots */
    uint32_t *lo, *hi, *pos;   /* [rows] visible key range and position of a row */
    const uint64_t **selected; /* [rows] keys selected for a row, with a selection */
    const float **relative;    /* [rows] relative bias of the row's head, or the row's score bias */
    const float **bias_rows;   /* [call rows] rows of 64 values */
    float *bias;               /* [call rows][64] rows that do not lie in the relative bias */
    float *s;                  /* [call rows][64] */
    uint16_t *p;               /* [call rows][64] */
    uint16_t *k, *v;           /* unpacked tile: [64][head size], [64][v_width] */
    float *k_scale, *v_scale;  /* [64] row scales of a tile */
    float *row;                /* one row of q or out, aligned */
    void *raw;                 /* the same in the caller's type */
};

/* Maxima over the groups of a plan. */
struct qr_plan_largest {
    size_t rows, q, o, k, v; /* elements of the arrays of struct qr_thread_scratch */
    uint32_t items, cascades, pool_blocks;
};

struct quire_plan {
    struct qr_handle handle;
    const char *owner; /* whose limits messages name: "plan", or the object that holds the plan */
    const struct quire_allocator *allocator;
    const struct quire_kv_cache *kv;
    struct qr_plan_largest largest;
    uint32_t n_groups, max_tokens, max_seqs, max_seq_len, n_threads, flags;
    uint32_t team_size; /* members that will run the next batch, 1 .. n_threads */
    uint32_t max_spans, max_tree_tokens, max_tree_words, max_sparse_blocks;
    uint32_t n_seqs, n_tokens, max_query_len, batch_max_seq_len; /* of the batch */
    bool busy; /* atomic: a call builds or runs the plan */
    struct qr_plan_group *groups;
    struct qr_attn_seq *seqs;        /* [max_seqs] */
    struct quire_token_range *spans; /* [max_spans] */
    uint64_t *tree;                  /* [max_tree_tokens][max_tree_words] */
    uint32_t *depths;                /* [max_tree_tokens] of the tokens of `tree` */
    uint32_t *staged_depths;         /* [max_tree_tokens] of the batch under validation */
    /* [max_seq_len in blocks / 64] bitmap of listed blocks; used by one validation at a time */
    uint64_t *listed;
    uint32_t *block_marks; /* [largest pool] generation of the last check that visited the block */
    uint32_t generation;   /* of the current check */
    struct qr_cost_run *cost_runs; /* [largest max_items] scratch of the partitioner */
    uint32_t n_cost_runs;
    struct qr_cascade_seq *cascade_seqs; /* [max_seqs] scratch of cascade detection */
    uint32_t *cascade_leaders;           /* [largest pool] hint: a sequence that has the block */
    float *partials;
    size_t n_partial_floats, n_cascade_floats; /* n_cascade_floats: of these, for cascades */
    unsigned char *scratch;                    /* [n_threads][scratch_bytes] */
    size_t scratch_bytes, bytes;
    _Alignas(64) uint32_t next_item;      /* atomic */
    _Alignas(64) uint32_t n_members_done; /* atomic: team members that have finished */
};

/* ---- partitioning */

/* A query tile: rows [row, row + n_rows) of a sequence and KV head, and the spans they see. */
struct qr_query_tile {
    uint32_t row, n_rows, span, end_span;
    uint32_t n_live; /* spans with a key that some row may see */
    struct qr_key_range keys;
    const struct quire_sparse_list *list; /* NULL: all blocks */
    uint64_t cost;                        /* keys times rows */
};

/* State of the partitioning of one group's work. */
struct qr_partitioner {
    struct quire_plan *plan;
    struct qr_plan_group *g;
    uint64_t target; /* approximate cost of a work item */
    size_t partials_used;
    uint32_t split_budget;  /* work items left beyond one per tile or range of own spans */
    uint32_t cascade_shift; /* log2 of the reduction of the split counts in cascades */
};

/* ---- execution */

struct qr_key_selection;
struct qr_score_bias;

/* One layer's attention call on one team member. */
struct qr_attention_call {
    struct quire_plan *plan;
    struct qr_plan_group *group;
    const struct quire_attention_config *config; /* the layer's own or the group's */
    const struct qr_attention_kernels *kernels;
    struct quire_attention_args args;         /* strides filled in */
    const struct qr_key_selection *selection; /* NULL: no token selection */
    const struct qr_score_bias *score_bias;   /* NULL: none */
    struct qr_thread_scratch scratch;
};

/* Softmax state of rows: m, l, l_exact [n_rows], o [n_rows][v_width]. l and l_exact are summed over
 * the lanes; l_exact is the sum of unrounded weights where the LSE needs it, else equal to l. */
struct qr_softmax_state {
    float *m, *l, *l_exact, *o;
};

/* Execution context of one attention work item: its query rows, and the keys and values of one
 * sequence, layer and KV head. Fields of the call that the tile loop reads are repeated here. */
struct qr_tile_ctx {
    const struct qr_attention_call *call;
    const struct qr_attention_kernels *kernels;
    const struct qr_thread_scratch *scratch;
    const struct quire_attention_config *config;
    const struct qr_kernels *kernel_table;
    const struct qr_work_item *item;
    /* query rows */
    const struct qr_attn_seq *seq;
    const struct quire_sparse_list *list; /* attended blocks, NULL = all */
    struct qr_key_range any, all;         /* hull of visible keys; keys visible to every row */
    uint32_t n_rows;                      /* loaded */
    bool tree;                            /* some row sees new tokens through a tree mask */
    bool exact;                           /* l_exact is computed */
    bool scaled_q;                        /* scratch->row_scale is valid: int8 queries */
    uint32_t gqa_ratio;
    uint32_t k_size, v_size, v_width;
    float k_scale, v_scale;
    /* keys and values */
    const struct qr_kv_layout *layout;
    struct qr_kv_head kv_head;
    const int32_t *block_ids;              /* ids of blocks first_block, first_block + 1, ... */
    uint32_t first_block, block_size;      /* block_size in tokens */
    uint32_t end;                          /* position after the last block */
    size_t k_column_bytes, v_column_bytes; /* from one column of a token group to the next */
};

/* Keys and values of one tile of 64 keys: four columns of 16 tokens in the form the kernels take,
 * NULL where no key is visible. */
struct qr_kv_tile {
    const void *k[QR_TILE_COLUMNS], *v[QR_TILE_COLUMNS];
    size_t k_stride, v_stride; /* bytes */
    bool k_8bit, v_8bit;       /* still in the cache's 8-bit form */
    /* [64] row scales of int8, undefined for keys that are not visible; else NULL */
    const float *k_scale, *v_scale;
    /* group scales of int4 columns, NULL where the column is, and bytes between the groups */
    const uint16_t *k_group_scale[QR_TILE_COLUMNS], *v_group_scale[QR_TILE_COLUMNS];
    size_t group_scale_stride;
    const void *prefetch_k, *prefetch_v; /* prefetch targets of the kernels, or NULL */
};

#endif
