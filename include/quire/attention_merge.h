/* SPDX-License-Identifier: Apache-2.0 */
/** Merge of partial attention results (context parallelism, split KV across caches or nodes).
 *
 * The keys of a sequence may lie in several places: ranks, NUMA nodes, a cache and fresh rows. Each
 * place attends from the same queries to its own keys, without sinks and with lse; merged, the
 * results are those of attention to all keys.
 *
 * A place says which keys are its own, so that positions and with them causal masks, windows,
 * slopes and relative bias stay what they are, in one of two ways:
 *
 *   blocks   Its batch is that of the whole sequence, with block lists (`sparse`) of the blocks it
 *            owns. Table entries of others are not read. Any dealing out works, block by block too.
 *   range    Keys [begin, end) from before the new tokens: cross attention with encoder_seq_lens =
 *            end - begin and seq_lens = length - begin. The range with the new tokens, from begin
 *            on: decoder attention with seq_lens = length - begin. Either has a table of its own,
 *            from entry 0 on. With chunk_size, begin is a multiple of it.
 *
 * A place whose blocks begin and end at multiples of 512 keys adds up the same spans as the whole;
 * the merged result still differs in its last bits, since it has been divided and rounded once
 * more. */
#ifndef QUIRE_ATTENTION_MERGE_H
#define QUIRE_ATTENTION_MERGE_H
#include <quire/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Attention of all queries to some of the keys, as quire_attention_forward writes it with f32 out
 *  and without sinks. Strides count elements; 0 = dense. Rows may be misaligned. */
struct quire_attention_partial {
    const float *out; /**< [tokens][n_heads][v_head_size]; anything where lse is -inf */
    const float *lse; /**< [tokens][n_heads] natural logarithms, -inf: the query saw no key */
    size_t out_token_stride, out_head_stride, lse_token_stride;
};

struct quire_attention_merge_args {
    uint32_t struct_size;
    uint32_t n_parts;                            /**< 1 .. 1024 */
    const struct quire_attention_partial *parts; /**< [n_parts] */
    size_t n_tokens;                             /**< 0 is fine: nothing to do */
    uint32_t n_heads;                            /**< 1 .. 65536 */
    uint32_t v_head_size;                        /**< >= 1 */
    const float *sinks; /**< [n_heads] finite or -inf, or NULL; they join the softmax here */
    float *out;         /**< [tokens][n_heads][v_head_size] overwritten */
    float *lse;         /**< [tokens][n_heads] overwritten, or NULL; without the sink */
    size_t out_token_stride, out_head_stride, lse_token_stride;
};
QUIRE_API void quire_attention_merge_args_init(struct quire_attention_merge_args *args,
                                               size_t struct_size);

/** Per query and head, with parts i in the order given:
 *
 *      lse = log(sum(exp(lse_i)))
 *      out = sum(exp(lse_i) * out_i) / (sum(exp(lse_i)) + exp(sink))
 *
 *  A query that saw no key in any part gets out = 0 and lse = -inf. An lse_i of NaN or +inf makes
 *  its row NaN.
 *
 *  Numerics: weights are taken relative to the largest lse_i, summed and divided in double, and
 *  rounded to f32; products are rounded and added in f32 in the order of the parts, those of
 *  weight 0 left out. So one part with keys alone comes out bit by bit, and bits do not depend on
 *  threads or other rows.
 *
 *  `out` may be the `out` of one part with the same strides, and `lse` the `lse` of one: merged in
 *  place. They are apart from everything else, and from each other.
 *  threads  runs the work, or NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL pointer, a count out of range, a sink that is NaN or +inf, a stride
 *  smaller than a row, sizes that overflow, or buffers that overlap; QUIRE_E_BUSY threads is in
 *  use; QUIRE_E_MISUSE struct_size. out and lse are untouched on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_merge(const struct quire_attention_merge_args *args, struct quire_threads *threads,
                      struct quire_error *err);

/** The checks of quire_attention_merge without the work. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_attention_merge_check(const struct quire_attention_merge_args *args, struct quire_error *err);

/** One member's share of a merge whose arguments have passed quire_attention_merge_check. Called by
 *  all members with the same arguments; no barrier inside. */
QUIRE_API void quire_attention_merge_part(const struct quire_attention_merge_args *args,
                                          const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
