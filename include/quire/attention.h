/* SPDX-License-Identifier: Apache-2.0 */
/** Paged attention: the configuration of a layer, the plan of a step, and the call.
 *
 *  One call serves prefill, chunked prefill, decode and any mix of them, and every option combines
 *  with every other. Outline of a program that has a transformer of its own:
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
 *  For query head h, which reads KV head h / (n_heads / n_kv_heads) (GQA), a query at position
 *  qpos, and every visible key at position kpos:
 *
 *      s    = scale * q . k
 *      s    = cap * tanh(s / cap)                    if logits_soft_cap is not 0
 *      s    = s + slope[h] * (kpos - qpos)           if alibi_slopes is given
 *      s    = s + bias[h][kpos - qpos]               if relative_bias is given
 *      out  = sum(exp(s) * v) / (sum(exp(s)) + exp(sink[h]))     sink only if sinks is given
 *      lse  = log(sum(exp(s)))                       natural logarithm, without the sink
 *
 *  A key is visible if it belongs to the sequence, kpos <= qpos when causal,
 *  kpos >= qpos - window_left and kpos <= qpos + window_right where those are not -1, and kpos is
 *  in the chunk of the query where chunk_size is not 0. Bidirectional spans of the batch add keys;
 *  its tree mask and its sparse block lists remove keys. A query without visible keys gets out = 0
 *  and lse = -inf.
 *
 *  Numerics: attention is batch-invariant and deterministic. The order of every addition is fixed
 *  (docs/numerics.md), so the result of a row depends on its own query, the visible keys and
 *  values, and their dtypes only: at one ISA level, identical bits for any batch composition,
 *  thread count, chunk size, block layout and block ids. Level avx512_amx sums bf16 products in an
 *  order of its own (rules N3, A1 and A6), so its bits differ from those of the other levels. */
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

/** Which keys a query attends to. Append only. */
enum quire_attention_kind {
    /** Self-attention of a decoder: the keys of the query's own sequence, whose last tokens are the
     *  queries. */
    QUIRE_ATTENTION_DECODER,
    /** Self-attention in the encoder of an encoder-decoder model, or in an encoder-only model:
     *  causal is 0, and usually all tokens of a sequence are queries. */
    QUIRE_ATTENTION_ENCODER,
    QUIRE_ATTENTION_ENCODER_ONLY,
    /** Cross attention: encoder_seq_lens keys in a KV group of their own. causal is 0. Query
     *  positions are positions in the decoder's sequence, key positions are positions in the
     *  encoder's sequence. */
    QUIRE_ATTENTION_CROSS,
};

#define QUIRE_WINDOW_NONE (-1)

/** Attention of one layer. Plain data; see the formulas at the top of this header. */
struct quire_attention_config {
    uint32_t struct_size;
    enum quire_attention_kind kind;
    uint32_t n_heads;    /**< 1 .. 65536 */
    uint32_t n_kv_heads; /**< divides n_heads */
    /** 1 .. 1024; sizes that are not multiples of 8 run on the generic kernels */
    uint32_t head_size;
    uint32_t v_head_size;  /**< same range; 0 = head_size */
    float scale;           /**< finite */
    float logits_soft_cap; /**< >= 0, 0 = off */
    /** Number of visible keys to the left and to the right of the query's own position;
     *  QUIRE_WINDOW_NONE = unbounded. A sliding window of W tokens in a model configuration is
     *  window_left = W - 1. */
    int32_t window_left, window_right;
    bool causal; /**< true: keys to the right are masked; false: window_right bounds them */
    enum quire_compute compute;
    /** [n_heads] each, or NULL. Borrowed for as long as the configuration is in use. Slopes are
     *  finite, sinks are finite or -inf. Sinks of another dtype: typed_sinks. */
    const float *alibi_slopes, *sinks;
    /** Chunked local attention: a query attends to its own chunk only, kpos / chunk_size == qpos /
     *  chunk_size. 0 = off. */
    uint32_t chunk_size;
    /** Relative position bias, or NULL: [n_heads][2 * relative_range + 1], finite, borrowed like
     *  alibi_slopes. Element [h][relative_range + d] applies to kpos - qpos = d; distances are
     *  clamped to -relative_range .. relative_range. quire_relative_bias builds the table from
     *  buckets. */
    const float *relative_bias;
    uint32_t relative_range; /**< 0 .. 2^20 */
    /** Sinks as a checkpoint stores them, in place of `sinks`: [n_heads] values of sinks_dtype,
     *  aligned to their size, or NULL; borrowed and bounded like `sinks`. The result is that of the
     *  same values in f32. Not together with `sinks`. */
    const void *typed_sinks;
    enum quire_kv_dtype sinks_dtype; /**< of typed_sinks: f32, bf16 or f16 */
    uint32_t reserved;               /**< 0 */
};

/** Sets the defaults: decoder, causal, scale 1 / sqrt(head_size), native compute; no window, soft
 *  cap, slopes, sinks, chunks or relative bias. */
QUIRE_API void quire_attention_config_init(struct quire_attention_config *config,
                                           size_t struct_size, uint32_t n_heads,
                                           uint32_t n_kv_heads, uint32_t head_size);

/** Reasons why a configuration is rejected: X(name, bit, text). Append only. */
#define QUIRE_ATTENTION_REASONS(X)                                                                 \
    X(KIND, 0, "kind is unknown to this build")                                                    \
    X(HEADS, 1, "n_heads is not 1 .. 65536")                                                       \
    X(KV_HEADS, 2, "n_kv_heads is 0 or does not divide n_heads")                                   \
    X(HEAD_SIZE, 3, "head_size is not 1 .. 1024")                                                  \
    X(V_HEAD_SIZE, 4, "v_head_size is not 1 .. 1024, or 0 for head_size")                          \
    X(SCALE, 5, "scale is not finite")                                                             \
    X(SOFT_CAP, 6, "logits_soft_cap is negative or not finite")                                    \
    X(WINDOW, 7, "window_left or window_right is below -1")                                        \
    X(COMPUTE, 8, "compute is not a compute mode")                                                 \
    X(SLOPES, 9, "a slope in alibi_slopes is not finite")                                          \
    X(SINKS, 10, "a value in sinks is NaN or +inf, or typed_sinks is given too")                   \
    X(KV_DTYPE, 11, "k_dtype or v_dtype is not a KV dtype")                                        \
    X(BLOCK_SIZE, 12, "block_size is not a multiple of 16 in 16 .. 65536")                         \
    X(ISA, 13, "isa is not an ISA level, or the CPU lacks it")                                     \
    X(CAUSAL, 14, "causal is set, which encoder and cross attention do not support")               \
    X(CHUNK, 15, "chunk_size is above 2^31 - 1")                                                   \
    X(RELATIVE, 16, "relative_range is above 2^20, or a value in relative_bias is not finite")     \
    X(SINKS_DTYPE, 17, "sinks_dtype is not f32, bf16 or f16")

enum quire_attention_reason {
#define X(name, bit, text) QUIRE_ATTENTION_NO_##name = 1 << bit,
    QUIRE_ATTENTION_REASONS(X)
#undef X
};

/** Result of quire_attention_validate. Strings other than text are static. */
struct quire_attention_report {
    uint32_t struct_size; /**< set by the caller */
    uint32_t reasons;     /**< enum quire_attention_reason bits, 0 = supported */
    const char *level;    /**< the requested or selected ISA level; NULL when isa was rejected */
    /** ISA level whose kernels run: `level`, or "generic" where a head size is not a multiple of 8.
     *  NULL when isa or a head size was rejected. */
    const char *kernels;
    char text[1024]; /**< one line per reason, and one when `kernels` is not `level` */
};
QUIRE_API void quire_attention_report_init(struct quire_attention_report *report,
                                           size_t struct_size);

/** Checks a configuration against a cache format and an ISA level, and reports all reasons at once.
 *  isa     exact level name, or NULL for the level that would be selected
 *  report  filled in, may be NULL
 *  QUIRE_E_UNSUPPORTED for any reason (the message lists them), QUIRE_E_INVALID_ARG config is NULL,
 *  QUIRE_E_MISUSE struct_size. Thread-safe. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_validate(const struct quire_attention_config *config, enum quire_kv_dtype k_dtype,
                         enum quire_kv_dtype v_dtype, uint32_t block_size, const char *isa,
                         struct quire_attention_report *report, struct quire_error *err);

/** Capabilities of one ISA level. Every option of the configuration works at every level. */
struct quire_attention_caps {
    uint32_t struct_size; /**< set by the caller */
    const char *level;
    uint32_t head_size_min, head_size_max, head_size_step; /**< range of the level's own kernels */
    uint32_t any_head_size_max; /**< other sizes up to this one run on the generic kernels */
    uint32_t block_size_step, block_size_max;
    uint32_t kv_dtypes;     /**< bits 1 << enum quire_kv_dtype */
    uint32_t kinds;         /**< bits 1 << enum quire_attention_kind */
    const char *native_dot; /**< ISA level whose bf16 dot product native compute uses */
};
QUIRE_API void quire_attention_caps_init(struct quire_attention_caps *caps, size_t struct_size);

/** Fills in the capabilities of an ISA level. isa: exact level name, NULL = best level.
 *  QUIRE_E_INVALID_ARG out is NULL or the level is unknown, QUIRE_E_UNSUPPORTED the CPU lacks the
 *  level, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_attention_get_caps(const char *isa,
                                                                 struct quire_attention_caps *out,
                                                                 struct quire_error *err);

/* ---- The batch ------------------------------------------------------------------------------- */

/** Block tables and slot mapping of a batch in one KV group. */
struct quire_attention_batch_group {
    /** [n_seqs][max_blocks]: entry j of a row is the id of block first_block + j of the sequence.
     *  Only the entries of blocks with visible keys are read; the others may hold any value. */
    const int32_t *block_table;
    uint32_t max_blocks;         /**< valid entries per row */
    uint32_t block_table_stride; /**< entries from row to row; 0 = max_blocks */
    const uint32_t *first_block; /**< [n_seqs] leading blocks already released, or NULL = none */
    /** [query_start_loc[n_seqs]] slots of the new tokens, for the writer of K and V. Attention does
     *  not read it; may be NULL. */
    const int64_t *slot_mapping;
};

/** Bidirectional span: the tokens at positions [begin, end) of a sequence attend to each other in
 *  both directions regardless of causal, windows and chunks, for example a prefix or the tokens of
 *  an image. The usual rules apply to all other keys. The whole span must be in the cache when its
 *  first token is a query; a span that begins at or after the end of the sequence is ignored in
 *  this step. */
struct quire_token_range {
    int32_t begin, end;
};

/** Block-sparse attention: the blocks that the queries of one sequence attend to in one KV head. A
 *  block is given by its index in the sequence (positions index * block_size onwards), so the other
 *  rules still apply. */
struct quire_sparse_list {
    const int32_t *blocks; /**< [n] ascending; indices beyond the sequence are ignored */
    uint32_t n;
};

/** The sequences of a step. Their new tokens are concatenated in q and out, sequence by
 *  sequence. */
struct quire_attention_batch {
    uint32_t struct_size;
    uint32_t n_seqs;                /**< 0 is valid: no work */
    const int32_t *query_start_loc; /**< [n_seqs + 1] first row of each, ascending from 0 */
    const int32_t *seq_lens; /**< [n_seqs] length of each; the new tokens are the last ones */
    /** [n_seqs] overrides causal of the configuration in decoder attention, or NULL. */
    const bool *causal;
    uint32_t n_groups;                                /**< number of KV groups of the cache */
    const struct quire_attention_batch_group *groups; /**< [n_groups] */
    /** [n_seqs] number of keys of each encoder sequence; cross attention only. */
    const int32_t *encoder_seq_lens;
    /** Bidirectional spans of sequence i: spans[span_loc[i]] .. spans[span_loc[i + 1] - 1],
     *  ascending and disjoint; empty spans are valid. Both NULL = none. Decoder attention only. */
    const int32_t *span_loc; /**< [n_seqs + 1] */
    const struct quire_token_range *spans;
    /** Tree attention over draft tokens: token t (a row of q) has tree_words words, and attends to
     *  new token j of its sequence if bit j % 64 of word j / 64 is set. A token attends to itself
     *  and to no later one. The mask replaces causality among the new tokens and limits a sequence
     *  to 64 * tree_words of them. The position of a token is that of the first new token plus its
     *  depth, the number of set bits other than its own; windows, chunks, spans, slopes and
     *  relative bias use it, in cross attention too. NULL = a linear chain; a mask that encodes a
     *  linear chain gives the same bits. Decoder attention only: encoders ignore it. */
    const uint64_t *tree_mask; /**< [query_start_loc[n_seqs]][tree_words] */
    /** Block-sparse lists: [n_groups] pointers to [n_seqs][n_kv_heads of the KV group's
     *  configuration]; NULL, or NULL for a group = all blocks. */
    const struct quire_sparse_list *const *sparse;
    /** Context parallelism: the cache holds the keys of one of cp_world_size ranks only, those at
     *  positions p with p / cp_interleave % cp_world_size == cp_rank, ascending and without gaps:
     *  block i of a block table, of first_block and of a sparse list holds the rank's keys
     *  i * block_size onwards. Lengths and positions remain those of whole sequences, so every mask
     *  and bias does; the result is a part for quire_attention_merge. Not with tree_mask.
     *  cp_world_size 0 or 1: all keys. */
    uint32_t cp_world_size; /**< at most 1024 */
    uint32_t cp_rank;       /**< below cp_world_size */
    uint32_t cp_interleave; /**< consecutive positions of a rank, at most 65536; 0 = 1 */
    uint32_t tree_words;    /**< words of tree_mask per token; 0 = 1 */
};
QUIRE_API void quire_attention_batch_init(struct quire_attention_batch *batch, size_t struct_size);

/** Derives the batch of the first n_seqs sequences of a padded batch. The result shares the arrays
 *  of `batch`. *out has room for batch->struct_size bytes,
 *  need not be initialized, and may be *batch.
 *  QUIRE_E_INVALID_ARG a NULL pointer, n_seqs above batch->n_seqs, or n_tokens other than
 *  query_start_loc[n_seqs]; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_attention_batch_unpadded(
    const struct quire_attention_batch *batch, uint32_t n_tokens, uint32_t n_seqs,
    struct quire_attention_batch *out, struct quire_error *err);

/* ---- The plan -------------------------------------------------------------------------------- */

/** Layers that share one schedule of work: their configurations differ at most in scale, soft cap,
 *  slopes, sinks, relative bias and compute, and their keys are in one KV group. */
struct quire_plan_group {
    const struct quire_attention_config *config; /**< copied */
    uint32_t kv_group;
    uint32_t reserved; /**< 0 */
};

enum {
    /** Disables split-KV: no query tile is divided among several threads. The plan is faster to
     *  build, for draft models; long sequences then use fewer threads. Same bits. */
    QUIRE_PLAN_FAST = 1u << 0,
    /** Cascade inference: where sequences share leading blocks, whole spans of 512 keys that are
     *  visible to all their queries are read once for all of them. By default the plan does so
     *  where it is faster; these flags force and forbid it. Same bits. */
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
    /** Block table entries that the sequences of one step may use in a group; 0 = enough for
     *  max_seqs sequences of max_seq_len. */
    uint32_t max_blocks;
    uint32_t n_threads; /**< threads of the largest team, 1 .. 1024; more threads get no work */
    uint32_t flags;     /**< QUIRE_PLAN_FAST, QUIRE_PLAN_CASCADE, QUIRE_PLAN_NO_CASCADE */
    uint32_t max_spans; /**< bidirectional spans of one step; 0 = none */
    uint32_t max_tree_tokens;   /**< tokens of one step with a tree mask; 0 = no tree masks */
    uint32_t max_sparse_blocks; /**< block list entries of one step and group; 0 = no lists */
    const char *isa;            /**< exact level name, NULL = best */
    const struct quire_allocator *allocator; /**< borrowed, outlives the plan; NULL = C library */
    /** Largest tree_words of a batch: trees of up to 64 * max_tree_words tokens. 0 = 1; at most
     *  64. */
    uint32_t max_tree_words;
    uint32_t reserved; /**< 0 */
};
QUIRE_API void quire_plan_params_init(struct quire_plan_params *params, size_t struct_size);

struct quire_plan; /**< schedule of the attention work of a step, and its memory */

/** Computes the bytes of the single allocation of quire_plan_create. Errors as
 *  quire_plan_create. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_bytes(const struct quire_plan_params *params,
                                                         uint64_t *bytes, struct quire_error *err);

/** Reserves all memory for building and running; a new plan holds an empty batch.
 *  QUIRE_E_INVALID_ARG a field out of range, QUIRE_E_UNSUPPORTED a configuration (the message lists
 *  the reasons) or isa, QUIRE_E_MISMATCH head counts or sizes other than the KV group's,
 *  QUIRE_E_LIMIT sizes overflow, QUIRE_E_NOMEM, QUIRE_E_MISUSE a struct_size. *out is NULL on
 *  failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_create(const struct quire_plan_params *params,
                                                          struct quire_plan **out,
                                                          struct quire_error *err);
QUIRE_API void quire_plan_destroy(struct quire_plan *plan); /**< NULL is a no-op */

/** Builds the plan of a step: checks the batch, copies what the plan needs of it, and schedules the
 *  work. Does not allocate; the batch need not outlive the call. On failure the plan keeps its
 *  previous batch.
 *  QUIRE_E_INVALID_ARG a NULL array; inconsistent lengths, spans, tree mask or block lists; two
 *  visible positions of one sequence in one slot; QUIRE_E_RANGE a block id outside the pool, a
 *  position before first_block or past max_blocks; QUIRE_E_LIMIT a limit of the plan is exceeded;
 *  QUIRE_E_BUSY the plan is in use; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_build(struct quire_plan *plan,
                                                         const struct quire_attention_batch *batch,
                                                         struct quire_error *err);

/** Replaces the block tables of one KV group; sequences and lengths of the plan stay. Only cascades
 *  are detected again, the rest of the schedule stays. Errors as quire_plan_build. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_plan_set_tables(struct quire_plan *plan, uint32_t kv_group,
                      const struct quire_attention_batch_group *tables, struct quire_error *err);

/** Statistics of a plan. */
struct quire_plan_info {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_seqs, n_tokens;
    uint32_t max_query_len, max_seq_len; /**< of the batch */
    uint32_t n_items;                    /**< work items of the requested group */
    uint32_t n_splits;                   /**< query tiles of the group that use split-KV */
    uint32_t n_cascades; /**< work items that read keys once for several sequences */
};
QUIRE_API void quire_plan_info_init(struct quire_plan_info *info, size_t struct_size);

/** Fills in the statistics of group `group` of the plan.
 *  QUIRE_E_INVALID_ARG a NULL pointer or no such group, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_plan_get_info(const struct quire_plan *plan,
                                                            uint32_t group,
                                                            struct quire_plan_info *out);

/* ---- The call -------------------------------------------------------------------------------- */

/** Operands of the attention of one layer. Strides count elements; 0 = dense. Rows may be
 *  misaligned. */
struct quire_attention_args {
    uint32_t struct_size;
    uint32_t group;                              /**< group of the plan */
    uint32_t layer;                              /**< layer within its KV group */
    const struct quire_attention_config *config; /**< of this layer; NULL = the group's */
    const void *q;                               /**< [tokens][n_heads][head_size] */
    size_t q_token_stride, q_head_stride;
    void *out; /**< [tokens][n_heads][v_head_size] overwritten; must not overlap q or lse */
    size_t out_token_stride, out_head_stride;
    float *lse; /**< [tokens][n_heads] overwritten, or NULL; must not overlap q */
    size_t lse_token_stride;
    /** dtype of q: f32, bf16, f16, or int8, where q_scale times the code is the query. Scores of
     *  int8 queries and int8 keys are exact integer sums. */
    enum quire_kv_dtype q_dtype;
    /** dtype of out: f32, bf16 or f16; or fp8_e4m3, fp8_e5m2 or int8, which store x / out_scale
     *  rounded to nearest even and saturated (int8: to -127 .. 127; NaN becomes 0). */
    enum quire_kv_dtype out_dtype;
    /** [tokens][n_heads] for int8 queries, must not overlap out; NULL for other dtypes */
    const float *q_scale;
    float out_scale; /**< finite and > 0; 0 = 1; unused for f32, bf16 and f16 */
};
QUIRE_API void quire_attention_args_init(struct quire_attention_args *args, size_t struct_size);

/** Computes attention for the batch of the plan. Keys and values, including those of the new
 *  tokens, must be in the cache.
 *  threads  executes the work; NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL pointer, a group or layer that does not exist, a stride smaller than
 *  a row, sizes that overflow, or buffers that overlap; QUIRE_E_MISMATCH config differs from the
 *  plan's in a field that must agree; QUIRE_E_UNSUPPORTED config; QUIRE_E_BUSY the plan or threads
 *  is in use; QUIRE_E_MISUSE a struct_size. out and lse are unchanged on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_forward(struct quire_plan *plan, const struct quire_attention_args *args,
                        struct quire_threads *threads, struct quire_error *err);

/** Performs the checks of quire_attention_forward only. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_check(const struct quire_plan *plan, const struct quire_attention_args *args,
                      struct quire_error *err);

/** Executes the share of one team member in a call whose arguments have passed
 *  quire_attention_check. All members call it with the same arguments. No barrier inside: K and V
 *  must be written before the first member enters, and `out` is complete when all members have
 *  returned. A plan serves one call at a time, so two calls need a barrier between them. */
QUIRE_API void quire_attention_part(struct quire_plan *plan,
                                    const struct quire_attention_args *args,
                                    const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
