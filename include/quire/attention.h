/* SPDX-License-Identifier: Apache-2.0 */
/** Attention over the paged cache: what a layer computes, the plan of a step, and the call.
 *
 *  One call serves prefill, chunked prefill, decode and any mix of them, and every option combines
 *  with every other. Outline of a program with a transformer of its own:
 *
 *      struct quire_attention_config c;
 *      quire_attention_config_init(&c, sizeof c, n_heads, n_kv_heads, head_size);
 *      quire_kv_create(..., &kv, &err);
 *      quire_plan_create(&plan_params, &plan, &err);           // once; reserves all memory
 *      per step:   fill a struct quire_attention_batch
 *                  quire_plan_build(plan, &batch, &err);       // once for all layers
 *      per layer:  quire_kv_write(kv, ...);                    // K and V of the new tokens
 *                  quire_attention_forward(plan, &args, threads, &err);
 *
 *  For query head h, which reads KV head h / (n_heads / n_kv_heads), a query at position qpos,
 *  and every key at kpos that it sees:
 *
 *      s    = scale * q . k
 *      s    = cap * tanh(s / cap)                    if logits_soft_cap is not 0
 *      s    = s + slope[h] * (kpos - qpos)           if alibi_slopes is given
 *      s    = s + bias[h][kpos - qpos]               if relative_bias is given
 *      out  = sum(exp(s) * v) / (sum(exp(s)) + exp(sink[h]))     sink only if sinks is given
 *      lse  = log(sum(exp(s)))                       natural logarithm, without the sink
 *
 *  A key is seen if it lies in the sequence, kpos <= qpos when causal, kpos >= qpos - window_left
 *  and kpos <= qpos + window_right where those are not -1, and in the query's chunk where
 *  chunk_size is not 0. Bidirectional spans of the batch add keys, its tree mask and block lists
 *  take keys away. A query that sees no key gets out = 0 and lse = -inf.
 *
 *  Numerics: the order of every addition is fixed (docs/numerics.md), so the bits of a row depend
 *  on its own query, the keys and values it sees, and their dtypes; never on threads, batch mates,
 *  chunking, block size, block ids or the level of the kernels. */
#ifndef QUIRE_ATTENTION_H
#define QUIRE_ATTENTION_H
#include <quire/compute.h>
#include <quire/kv_cache.h>
#include <quire/status.h>
#include <quire/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a layer computes ------------------------------------------------------------------- */

/** Whose keys a query attends to. Append only. */
enum quire_attention_kind {
    /** Those of its own sequence, whose last tokens the queries are. */
    QUIRE_ATTENTION_DECODER,
    /** The same in the encoder of an encoder-decoder model, and in a model that is only an encoder:
     *  causal is 0, and usually all tokens of a sequence are queries. */
    QUIRE_ATTENTION_ENCODER,
    QUIRE_ATTENTION_ENCODER_ONLY,
    /** Those of the sequence's encoder: encoder_seq_lens keys of a KV group of their own. causal is
     *  0; positions of queries are those in the decoder's sequence, positions of keys those in the
     *  encoder's. */
    QUIRE_ATTENTION_CROSS,
};

#define QUIRE_WINDOW_NONE (-1)

/** Attention of one layer. Plain data; see the formulas at the top of this header. */
struct quire_attention_config {
    uint32_t struct_size;
    enum quire_attention_kind kind;
    uint32_t n_heads;      /**< 1 .. 65536 */
    uint32_t n_kv_heads;   /**< divides n_heads */
    uint32_t head_size;    /**< 1 .. 1024; not a multiple of 8: runs on generic kernels */
    uint32_t v_head_size;  /**< likewise; 0 = head_size */
    float scale;           /**< finite */
    float logits_soft_cap; /**< >= 0, 0 = off */
    /** Keys to the left and to the right of its own that a query sees; QUIRE_WINDOW_NONE = all.
     *  What models call a sliding window of W is window_left = W - 1. */
    int32_t window_left, window_right;
    bool causal; /**< true: no key to the right is seen; false: as far as window_right allows */
    enum quire_compute compute;
    /** [n_heads] each, or NULL. Borrowed for as long as the configuration is in use. Slopes are
     *  finite, sinks may be -inf. */
    const float *alibi_slopes, *sinks;
    /** Chunked local attention: a query sees only keys of its own chunk, kpos / chunk_size ==
     *  qpos / chunk_size. 0 = off. */
    uint32_t chunk_size;
    /** Relative position bias, or NULL: [n_heads][2 * relative_range + 1], finite, borrowed like
     *  slopes. Element [h][relative_range + d] is for kpos - qpos = d; distances beyond
     *  relative_range take its value. quire_relative_bias makes one from buckets. */
    const float *relative_bias;
    uint32_t relative_range; /**< 0 .. 2^20 */
};

/** Decoder, causal, scale 1 / sqrt(head_size), no window, cap, slopes or sinks, native. */
QUIRE_API void quire_attention_config_init(struct quire_attention_config *config,
                                           size_t struct_size, uint32_t n_heads,
                                           uint32_t n_kv_heads, uint32_t head_size);

/** Reasons for refusing a configuration: X(name, bit, text). Append only. */
#define QUIRE_ATTENTION_REASONS(X)                                                                 \
    X(KIND, 0, "kind is none that this build computes")                                            \
    X(HEADS, 1, "n_heads is not 1 .. 65536")                                                       \
    X(KV_HEADS, 2, "n_kv_heads is 0 or does not divide n_heads")                                   \
    X(HEAD_SIZE, 3, "head_size is not 1 .. 1024")                                                  \
    X(V_HEAD_SIZE, 4, "v_head_size is not 1 .. 1024, or 0 for head_size")                          \
    X(SCALE, 5, "scale is not finite")                                                             \
    X(SOFT_CAP, 6, "logits_soft_cap is negative or not finite")                                    \
    X(WINDOW, 7, "window_left or window_right is below -1")                                        \
    X(COMPUTE, 8, "compute is no compute mode")                                                    \
    X(SLOPES, 9, "a slope in alibi_slopes is not finite")                                          \
    X(SINKS, 10, "a value in sinks is NaN or +inf")                                                \
    X(KV_DTYPE, 11, "k_dtype or v_dtype is no KV dtype")                                           \
    X(BLOCK_SIZE, 12, "block_size is not a multiple of 16 in 16 .. 65536")                         \
    X(ISA, 13, "isa names no level, or one that this CPU lacks")                                   \
    X(CAUSAL, 14, "causal is not 0, which encoder and cross attention want")                       \
    X(CHUNK, 15, "chunk_size is above 2^31 - 1")                                                   \
    X(RELATIVE, 16, "relative_range is above 2^20, or a value in relative_bias is not finite")

enum quire_attention_reason {
#define X(name, bit, text) QUIRE_ATTENTION_NO_##name = 1 << bit,
    QUIRE_ATTENTION_REASONS(X)
#undef X
};

/** What quire_attention_validate found. Strings other than text are static. */
struct quire_attention_report {
    uint32_t struct_size; /**< set by the caller */
    uint32_t reasons;     /**< enum quire_attention_reason bits, 0 = supported */
    const char *level;    /**< asked for or chosen; NULL when isa was refused */
    /** Level whose kernels run: `level`, or "generic" where a head size is not a multiple of 8.
     *  NULL when isa or a head size was refused. */
    const char *kernels;
    char text[1024]; /**< one line per reason, and one when `kernels` is not `level` */
};
QUIRE_API void quire_attention_report_init(struct quire_attention_report *report,
                                           size_t struct_size);

/** Checks a configuration against a cache format and a level, and reports every reason at once.
 *  isa     exact level name, or NULL for the one that would be chosen
 *  report  filled in, may be NULL
 *  QUIRE_E_UNSUPPORTED for any reason (the message lists them), QUIRE_E_INVALID_ARG config NULL,
 *  QUIRE_E_MISUSE a struct_size. Thread-safe. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_validate(const struct quire_attention_config *config, enum quire_kv_dtype k_dtype,
                         enum quire_kv_dtype v_dtype, uint32_t block_size, const char *isa,
                         struct quire_attention_report *report, struct quire_error *err);

/** What one level can do. Every option of the configuration works at every level. */
struct quire_attention_caps {
    uint32_t struct_size; /**< set by the caller */
    const char *level;
    uint32_t head_size_min, head_size_max, head_size_step; /**< with the level's own kernels */
    uint32_t any_head_size_max; /**< sizes up to this run on generic kernels otherwise */
    uint32_t block_size_step, block_size_max;
    uint32_t kv_dtypes;     /**< bits 1 << enum quire_kv_dtype */
    uint32_t kinds;         /**< bits 1 << enum quire_attention_kind */
    const char *native_dot; /**< level whose bf16 dot product native compute uses */
};
QUIRE_API void quire_attention_caps_init(struct quire_attention_caps *caps, size_t struct_size);

/** isa NULL = the best level. QUIRE_E_INVALID_ARG out NULL or unknown level, QUIRE_E_UNSUPPORTED
 *  the CPU lacks it, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_attention_caps(const char *isa,
                                                             struct quire_attention_caps *out,
                                                             struct quire_error *err);

/* ---- The batch ------------------------------------------------------------------------------- */

/** Where the sequences of a batch lie in one KV group. */
struct quire_attention_batch_group {
    /** [n_seqs][max_blocks]: entry j of a row is the id of block first_block + j of the sequence.
     *  Only entries of blocks that a query of this batch sees are read; others hold anything. */
    const int32_t *block_table;
    uint32_t max_blocks;         /**< entries of a row that exist */
    uint32_t block_table_stride; /**< entries from row to row; 0 = max_blocks */
    const uint32_t *first_block; /**< [n_seqs] leading blocks given up, or NULL = none */
    /** [query_start_loc[n_seqs]] slots of the new tokens, for whoever writes K and V. Attention
     *  does not read it; NULL is fine when nobody does. */
    const int64_t *slot_mapping;
};

/** Positions [begin, end) of a sequence whose tokens see each other both ways, whatever causal,
 *  windows and chunks say: a prefix, or the tokens of a picture. Other keys are seen by the usual
 *  rules. The whole span must be in the cache when its first token is a query; a span that begins
 *  where the sequence ends, or later, is left for later steps. */
struct quire_token_range {
    int32_t begin, end;
};

/** Blocks that the queries of one sequence and KV head attend to. A block is named by its place in
 *  the sequence (positions place * block_size and on), so the other rules still apply. */
struct quire_sparse_list {
    const int32_t *blocks; /**< [n] rising; places beyond the sequence are ignored */
    uint32_t n;
};

/** The sequences of a step. Their new tokens lie one sequence after another in q and out. */
struct quire_attention_batch {
    uint32_t struct_size;
    uint32_t n_seqs;                /**< 0 is fine: nothing to do */
    const int32_t *query_start_loc; /**< [n_seqs + 1] first token of each, rising from 0 */
    const int32_t *seq_lens;        /**< [n_seqs] tokens of each; the new ones are the last */
    /** [n_seqs] in place of the configuration's in decoder attention, or NULL. */
    const bool *causal;
    uint32_t n_groups;                                /**< KV groups of the cache */
    const struct quire_attention_batch_group *groups; /**< [n_groups] */
    /** [n_seqs] keys of each sequence's encoder; needed by cross attention only. */
    const int32_t *encoder_seq_lens;
    /** Bidirectional spans of sequence i: spans[span_loc[i]] .. spans[span_loc[i + 1] - 1], rising
     *  and apart; empty ones are fine. Both NULL = none. Decoder attention only. */
    const int32_t *span_loc; /**< [n_seqs + 1] */
    const struct quire_token_range *spans;
    /** Tree of drafted tokens: bit j of tree_mask[t] says that token t (a row of q) sees new token j
     *  of its sequence, itself included and none after it; this stands in for causality among the
     *  new tokens. Sequences have at most 64 of them then. A token's position is that of the first
     *  new one plus the number of tokens above it, its bits less its own; it holds for windows,
     *  chunks, spans, slopes and relative bias, of cross attention too. NULL = a plain chain, and a
     *  mask that says the same gives the same bits. Decoder attention only. */
    const uint64_t *tree_mask; /**< [query_start_loc[n_seqs]] */
    /** [n_seqs][n_kv_heads of the KV group's configuration] per KV group, or NULL: all blocks.
     *  [n_groups] pointers, of which each may be NULL. */
    const struct quire_sparse_list *const *sparse;
};
QUIRE_API void quire_attention_batch_init(struct quire_attention_batch *batch, size_t struct_size);

/** The first n_seqs sequences of a batch that was padded to more, as a batch that shares its
 *  arrays. *out need not be filled in before, and may be *batch.
 *  QUIRE_E_INVALID_ARG NULL, n_seqs above batch->n_seqs, or n_tokens other than
 *  query_start_loc[n_seqs]; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_attention_batch_unpadded(
    const struct quire_attention_batch *batch, uint32_t n_tokens, uint32_t n_seqs,
    struct quire_attention_batch *out, struct quire_error *err);

/* ---- The plan -------------------------------------------------------------------------------- */

/** Layers that share the division of work: they agree in everything but scale, soft cap, slopes,
 *  sinks, relative bias and compute, and their keys lie in one KV group. */
struct quire_plan_group {
    const struct quire_attention_config *config; /**< copied */
    uint32_t kv_group;
    uint32_t reserved; /**< 0 */
};

enum {
    /** Never divide one query tile among several workers: quicker to build, for drafting; long
     *  sequences then use fewer threads. Same bits. */
    QUIRE_PLAN_FAST = 1u << 0,
    /** Cascade: where sequences begin with the same blocks, whole spans of 512 keys that all their
     *  queries see are read once for all of them. By default the plan does so where it pays; these
     *  force and forbid it. Same bits. */
    QUIRE_PLAN_CASCADE = 1u << 1,
    QUIRE_PLAN_NO_CASCADE = 1u << 2,
};

struct quire_plan_params {
    uint32_t struct_size;
    const struct quire_kv_cache *kv;       /**< borrowed, outlives the plan */
    const struct quire_plan_group *groups; /**< [n_groups], read during create */
    uint32_t n_groups;                     /**< 1 .. 256 */
    uint32_t max_tokens;  /**< new tokens of one step, all sequences together; at most 2^24 */
    uint32_t max_seqs;    /**< sequences of one step; at most 2^20 */
    uint32_t max_seq_len; /**< longest sequence, encoders included; at most 2^31 - 1 */
    /** Table entries that the sequences of one step may use in a group; 0 = enough for max_seqs
     *  sequences of max_seq_len. */
    uint32_t max_blocks;
    uint32_t n_threads;         /**< members of the largest team, 1 .. 1024; more find no work */
    uint32_t flags;             /**< QUIRE_PLAN_FAST, QUIRE_PLAN_CASCADE, QUIRE_PLAN_NO_CASCADE */
    uint32_t max_spans;         /**< bidirectional spans of one step; 0 = none */
    uint32_t max_tree_tokens;   /**< tokens of one step that has a tree mask; 0 = never */
    uint32_t max_sparse_blocks; /**< entries of the lists of one step and group; 0 = no lists */
    const char *isa;            /**< exact level name, NULL = best */
    const struct quire_allocator *allocator; /**< borrowed, outlives the plan; NULL = C library */
};
QUIRE_API void quire_plan_params_init(struct quire_plan_params *params, size_t struct_size);

struct quire_plan; /**< who computes what in a step, and the memory for it */

/** Bytes of the one request quire_plan_create makes. Errors as quire_plan_create. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_bytes(const struct quire_plan_params *params,
                                                         uint64_t *bytes, struct quire_error *err);

/** Reserves everything that building and running will need; a fresh plan holds an empty batch.
 *  QUIRE_E_INVALID_ARG a field out of range, QUIRE_E_UNSUPPORTED a configuration (the message lists
 *  the reasons) or isa, QUIRE_E_MISMATCH head counts or sizes that are not the KV group's,
 *  QUIRE_E_LIMIT sizes overflow, QUIRE_E_NOMEM, QUIRE_E_MISUSE a struct_size. *out is NULL on
 *  failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_create(const struct quire_plan_params *params,
                                                          struct quire_plan **out,
                                                          struct quire_error *err);
QUIRE_API void quire_plan_destroy(struct quire_plan *plan); /**< NULL is a no-op */

/** Takes over a batch: checks it, copies what it needs of it, and divides the work. No allocation;
 *  the batch may be gone afterwards. On failure the plan still holds the batch it held before.
 *  QUIRE_E_INVALID_ARG a NULL array, lengths, spans, a tree mask or block lists that make no sense,
 *  two positions that queries of one sequence see in one slot; QUIRE_E_RANGE a block id outside the pool, a
 *  position before first_block or past max_blocks; QUIRE_E_LIMIT more than the plan was made for;
 *  QUIRE_E_BUSY the plan is in use; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_build(struct quire_plan *plan,
                                                         const struct quire_attention_batch *batch,
                                                         struct quire_error *err);

/** Replaces the block tables of one KV group, for the sequences and lengths the plan holds. Only
 *  cascades are looked for anew; otherwise the division of work stays. Errors as quire_plan_build. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_plan_set_tables(struct quire_plan *plan, uint32_t kv_group,
                      const struct quire_attention_batch_group *tables, struct quire_error *err);

/** What a plan holds. */
struct quire_plan_info {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_seqs, n_tokens;
    uint32_t max_query_len, max_seq_len; /**< of the batch */
    uint32_t n_items;                    /**< pieces of work of the group asked about */
    uint32_t n_splits;   /**< query tiles of it that are divided among several pieces */
    uint32_t n_cascades; /**< pieces that read keys once for several sequences */
};
QUIRE_API void quire_plan_info_init(struct quire_plan_info *info, size_t struct_size);

/** QUIRE_E_INVALID_ARG a NULL pointer or no such group, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_info(const struct quire_plan *plan,
                                                        uint32_t group,
                                                        struct quire_plan_info *out);

/* ---- The call -------------------------------------------------------------------------------- */

/** Arguments of one layer's attention. Strides count elements; 0 = dense. Rows may be
 *  misaligned. */
struct quire_attention_args {
    uint32_t struct_size;
    uint32_t group;                              /**< group of the plan */
    uint32_t layer;                              /**< layer within its KV group */
    const struct quire_attention_config *config; /**< this layer's; NULL = the group's */
    const void *q;                               /**< [tokens][n_heads][head_size] */
    size_t q_token_stride, q_head_stride;
    void *out; /**< [tokens][n_heads][v_head_size] overwritten; apart from q and lse */
    size_t out_token_stride, out_head_stride;
    float *lse; /**< [tokens][n_heads] overwritten, or NULL; apart from q */
    size_t lse_token_stride;
    /** Of q: f32, bf16, f16, or int8, whose values times q_scale are the queries. Scores of int8
     *  queries and int8 keys are exact sums of integers. */
    enum quire_kv_dtype q_dtype;
    /** Of out: f32, bf16 or f16; or fp8_e4m3, fp8_e5m2 or int8: then x / out_scale is stored,
     *  rounded to nearest even and saturated (int8: to -127 .. 127), NaN as int8 0. */
    enum quire_kv_dtype out_dtype;
    const float *q_scale; /**< [tokens][n_heads] for int8 queries, apart from out; else NULL */
    float out_scale;      /**< finite and > 0; 0 = 1; unused for f32, bf16 and f16 */
};
QUIRE_API void quire_attention_args_init(struct quire_attention_args *args, size_t struct_size);

/** Attends from the plan's batch. Keys and values, those of the new tokens included, must be in the
 *  cache.
 *  threads  runs the work, or NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL pointer, a group or layer that does not exist, a stride smaller than
 *  a row, sizes that overflow, or buffers that overlap; QUIRE_E_MISMATCH config differs from the
 *  plan's where it may not; QUIRE_E_UNSUPPORTED config; QUIRE_E_BUSY the plan or threads is in use;
 *  QUIRE_E_MISUSE a struct_size. out and lse are untouched on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_forward(struct quire_plan *plan, const struct quire_attention_args *args,
                        struct quire_threads *threads, struct quire_error *err);

/** The checks of quire_attention_forward without the work. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_check(const struct quire_plan *plan, const struct quire_attention_args *args,
                      struct quire_error *err);

/** One member's share of a call whose arguments have passed quire_attention_check. Called by all
 *  members with the same arguments. No barrier inside: K and V must be written before the first
 *  member enters, and `out` is complete when all have left. A plan serves one call at a time, so a
 *  barrier lies between two calls. */
QUIRE_API void quire_attention_part(struct quire_plan *plan,
                                    const struct quire_attention_args *args,
                                    const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
