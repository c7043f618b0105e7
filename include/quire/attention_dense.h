/* SPDX-License-Identifier: Apache-2.0 */
/** Attention over contiguous keys and values, without a paged cache of the caller. Formulas and
 *  options: <quire/attention.h>. */
#ifndef QUIRE_ATTENTION_DENSE_H
#define QUIRE_ATTENTION_DENSE_H
#include <quire/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Contiguous keys and values -------------------------------------------------------------- */
/* For contiguous keys and values that are used once: encoders, cross attention without a cache,
 *  prompts without a cache. The rows are packed into memory of the object and processed by the
 *  kernels of paged attention, so the bits are those of a cache of `dtype` that holds the same
 *  rows. */

struct quire_dense_params {
    uint32_t struct_size;
    enum quire_kv_dtype dtype; /**< storage type of the packed keys and values: f32, bf16 or f16 */
    const struct quire_attention_config *config; /**< copied; of any kind */
    uint32_t max_tokens;    /**< queries of one call, all sequences together; at most 2^24 */
    uint32_t max_kv_tokens; /**< keys of one call, all sequences together; 1 .. 2^31 - 1 */
    uint32_t max_seqs;      /**< sequences of one call; at most 2^20 */
    /** Maximum number of keys of a sequence, and maximum of `seq_lens`; 0 = the larger of
     *  max_kv_tokens and max_tokens. */
    uint32_t max_seq_len;
    uint32_t n_threads; /**< threads of the largest team, 1 .. 1024; more threads get no work */
    uint32_t flags;     /**< QUIRE_PLAN_FAST */
    uint32_t max_spans, max_tree_tokens, max_sparse_blocks; /**< as in struct quire_plan_params */
    const char *isa;                                        /**< exact level name, NULL = best */
    const struct quire_allocator *allocator; /**< borrowed, outlives the object; NULL = C library */
    uint32_t max_tree_words;                 /**< as in struct quire_plan_params */
    uint32_t reserved;                       /**< 0 */
};
QUIRE_API void quire_dense_params_init(struct quire_dense_params *params, size_t struct_size);

/** The sequences of one call. Query i of n queries in a sequence of m keys is at position
 *  m - n + i. */
struct quire_dense_batch {
    uint32_t struct_size;
    uint32_t n_seqs;                /**< 0 is valid: no work */
    const int32_t *query_start_loc; /**< [n_seqs + 1] first row of q of each, ascending from 0 */
    /** First row of k and v of each sequence. [n_seqs + 1], non-decreasing, where kv_lens is NULL;
     *  else [n_seqs], in any order. */
    const int32_t *kv_start_loc;
    /** [n_seqs] number of keys of each sequence; NULL = differences of kv_start_loc */
    const int32_t *kv_lens;
    /** Cross attention only: [n_seqs] length of each decoder sequence, whose last tokens are the
     *  queries; NULL = all tokens of the decoder sequence are queries. */
    const int32_t *seq_lens;
    /** As in struct quire_attention_batch; NULL where not used. Sparse lists count blocks of 64
     *  keys: [n_seqs][n_kv_heads]. */
    const bool *causal;
    const int32_t *span_loc;
    const struct quire_token_range *spans;
    const uint64_t *tree_mask;
    const struct quire_sparse_list *sparse;
    enum quire_kv_dtype dtype; /**< of k and v: f32, bf16 or f16 */
    const void *k;             /**< [rows][n_kv_heads][head_size] */
    const void *v;             /**< [rows][n_kv_heads][v_head_size] */
    /** In elements; 0 = dense. Rows may be misaligned. Tensors of [batch][heads][tokens][size] have
     *  k_head_stride tokens * size, k_token_stride size, and kv_start_loc b * heads * tokens. */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    uint32_t tree_words; /**< as in struct quire_attention_batch */
    uint32_t reserved;   /**< 0 */
};
QUIRE_API void quire_dense_batch_init(struct quire_dense_batch *batch, size_t struct_size);

struct quire_dense; /**< Memory for packed keys and values and for the schedule of work. */

/** Computes the bytes of the four allocations of quire_dense_create together. Errors as
 *  quire_dense_create. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_dense_bytes(const struct quire_dense_params *params,
                                                          uint64_t *bytes, struct quire_error *err);

/** Reserves all memory that calls need.
 *  QUIRE_E_INVALID_ARG a field out of range, QUIRE_E_UNSUPPORTED config (the message lists the
 *  reasons) or isa, QUIRE_E_LIMIT sizes overflow, QUIRE_E_NOMEM, QUIRE_E_MISUSE a struct_size. *out
 *  belongs to the caller (quire_dense_destroy); NULL on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_dense_create(const struct quire_dense_params *params,
                                                           struct quire_dense **out,
                                                           struct quire_error *err);
QUIRE_API void quire_dense_destroy(struct quire_dense *dense); /**< NULL is a no-op */

/** Computes attention of args->q over the keys and values of the batch. Does not allocate.
 *  args     as for quire_attention_forward; group and layer are 0, and config may differ from the
 *           object's in the same fields as there
 *  threads  executes the work; NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL pointer, inconsistent lengths, fewer keys than queries (except in
 *  cross attention), a stride smaller than a row, sizes that overflow, or buffers that overlap (out
 *  and lse must not overlap q, k or v); QUIRE_E_LIMIT a limit of the object is exceeded; and the
 *  errors of quire_plan_build and quire_attention_forward. On failure out and lse are unchanged. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_dense(struct quire_dense *dense, const struct quire_dense_batch *batch,
                      const struct quire_attention_args *args, struct quire_threads *threads,
                      struct quire_error *err);

/** Loads the lengths and masks of a batch, which need not outlive the call. For teams, and for many
 *  layers of one batch, in place of quire_attention_dense. k, v and their strides are not read. On
 *  failure the object keeps its previous lengths and masks. quire_attention_dense replaces them. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_dense_prepare(struct quire_dense *dense,
                                                            const struct quire_dense_batch *batch,
                                                            struct quire_error *err);

/** Checks k, v, their strides and args against the loaded lengths; no other member of the batch is
 *  read. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_dense_check(const struct quire_dense *dense,
                                                          const struct quire_dense_batch *batch,
                                                          const struct quire_attention_args *args,
                                                          struct quire_error *err);

/** Executes the share of one team member in a call that has passed quire_dense_check. All members
 *  call it with the same arguments. One barrier inside; `out` is complete when all members have
 *  returned, and two calls need a barrier between them. */
QUIRE_API void quire_dense_part(struct quire_dense *dense, const struct quire_dense_batch *batch,
                                const struct quire_attention_args *args,
                                const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
