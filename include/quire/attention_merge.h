/* SPDX-License-Identifier: Apache-2.0 */
/** Merge of partial attention results (context parallelism, split-KV across caches or nodes).
 *
 *  The keys of a sequence may be distributed over several places: ranks, NUMA nodes, a cache and
 *  contiguous rows. Each place computes attention of the same queries over its own keys, without
 *  sinks and with lse; the merged result is attention over all keys.
 *
 *  A place selects its own keys in one of three ways. All preserve positions, hence causal masks,
 *  windows, slopes and relative bias:
 *
 *    tokens   The batch is that of the whole sequence, with cp_world_size, cp_rank and
 *             cp_interleave: the place holds every cp_world_size-th token, or run of tokens
 *             (decode context parallelism). quire_kv_map_slots takes the same three members.
 *    blocks   The batch is that of the whole sequence, with sparse block lists (`sparse`) of the
 *             blocks that the place holds. Block table entries of other blocks are not read. Any
 *             distribution of blocks is valid, including round-robin.
 *    range    Keys [begin, end) before the new tokens: cross attention with encoder_seq_lens =
 *             end - begin and seq_lens = length - begin. The range from begin that includes the
 *             new tokens: decoder attention with seq_lens = length - begin. Each has a block table
 *             of its own, starting at entry 0. With chunk_size, begin is a multiple of it.
 *
 *  A place whose blocks begin and end at multiples of 512 keys sums the same spans as attention
 *  over the whole sequence; the merged result still differs in its last bits, because partial
 *  results are divided and rounded once more. */
#ifndef QUIRE_ATTENTION_MERGE_H
#define QUIRE_ATTENTION_MERGE_H
#include <quire/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Attention of all queries over some of the keys, as quire_attention_forward writes it with f32
 *  out and without sinks. Strides count elements; 0 = dense. Rows may be misaligned. */
struct quire_attention_partial {
    /** [tokens][n_heads][v_head_size]; rows whose lse is -inf may hold any value */
    const float *out;
    /** [tokens][n_heads] natural logarithms; -inf: the query has no visible key */
    const float *lse;
    size_t out_token_stride, out_head_stride, lse_token_stride;
};

struct quire_attention_merge_args {
    uint32_t struct_size;
    uint32_t n_parts;                            /**< 1 .. 1024 */
    const struct quire_attention_partial *parts; /**< [n_parts] */
    size_t n_tokens;                             /**< 0 is valid: no work */
    uint32_t n_heads;                            /**< 1 .. 65536 */
    uint32_t v_head_size;                        /**< >= 1 */
    const float *sinks; /**< [n_heads] finite or -inf, or NULL; added to the denominator here */
    float *out;         /**< [tokens][n_heads][v_head_size] overwritten */
    float *lse;         /**< [tokens][n_heads] overwritten, or NULL; without the sink */
    size_t out_token_stride, out_head_stride, lse_token_stride;
    /** Sinks of another dtype, in place of `sinks`: as in struct quire_attention_config. */
    const void *typed_sinks;
    enum quire_kv_dtype sinks_dtype;
    uint32_t reserved; /**< 0 */
};
QUIRE_API void quire_attention_merge_args_init(struct quire_attention_merge_args *args,
                                               size_t struct_size);

/** Merges partial results. Per query and head, with parts i in the given order:
 *
 *      lse = log(sum(exp(lse_i)))
 *      out = sum(exp(lse_i) * out_i) / (sum(exp(lse_i)) + exp(sink))
 *
 *  A query without visible keys in any part gets out = 0 and lse = -inf. An lse_i of NaN or +inf
 *  makes its row NaN.
 *
 *  Numerics: weights are relative to the largest lse_i, summed and divided in double, and rounded
 *  to f32; products are rounded and added in f32 in the order of the parts, skipping parts of
 *  weight 0. Hence a single part with keys is returned bit for bit, and bits do not depend on
 *  threads or other rows.
 *
 *  In place: `out` may be the `out` of one part with the same strides, and `lse` the `lse` of one
 *  part. Otherwise they must not overlap any input or each other.
 *  threads  executes the work; NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL pointer, a count out of range, a sink that is NaN or +inf,
 *  sinks_dtype or both kinds of sinks, a stride smaller than a row, sizes that overflow, or buffers
 *  that overlap; QUIRE_E_BUSY threads is in use; QUIRE_E_MISUSE struct_size. out and lse are
 *  unchanged on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_merge(const struct quire_attention_merge_args *args, struct quire_threads *threads,
                      struct quire_error *err);

/** Performs the checks of quire_attention_merge only. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_merge_check(const struct quire_attention_merge_args *args, struct quire_error *err);

/** Executes the share of one team member in a merge whose arguments have passed
 *  quire_attention_merge_check. All members call it with the same arguments; no barrier inside. */
QUIRE_API void quire_attention_merge_part(const struct quire_attention_merge_args *args,
                                          const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
