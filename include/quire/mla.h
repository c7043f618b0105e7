/* SPDX-License-Identifier: Apache-2.0 */
/** Multi-head latent attention (MLA), as in DeepSeek-V2 and -V3 (arXiv:2405.04434, section 2.1).
 *
 *  A token caches one latent row for all heads, c = [c_kv; k_rope]: kv_lora_rank normalized values,
 *  and qk_rope_head_dim rotated ones. Head h has queries q = [q_nope; q_rope], and its keys and
 *  values are
 *
 *      k_h(j) = [W_UK_h c_kv(j); k_rope(j)]      v_h(j) = W_UV_h c_kv(j)
 *
 *  They need not be materialized: since q_nope . (W_UK_h c_kv) = (W_UK_h^T q_nope) . c_kv,
 *
 *      absorbed   s   = scale * [W_UK_h^T q_nope; q_rope] . c(j)
 *                 out = W_UV_h (sum of softmax(s)_j * c_kv(j))
 *
 *  is attention with n_heads query heads over one KV head whose keys have
 *  kv_lora_rank + qk_rope_head_dim elements, the first kv_lora_rank of which are the value. The
 *  expanded form materializes k_h and v_h and runs ordinary attention over n_heads KV heads: fewer
 *  operations for long prompts, the same result except for its last bits, and a cache that is many
 *  times as large.
 *
 *  Call sequence of the absorbed form:
 *
 *      quire_mla_kv_group(&dims, dtype, n_layers, n_blocks, &group, &err);     once
 *      quire_mla_absorbed_config(&dims, mscale, &config, &err);
 *      quire_mla_weights_create(&params, &weights, &err);                      once for each layer
 *      per layer: quire_kv_write(kv, ...)             k = latent rows, v = NULL
 *                 quire_mla_absorb(weights, ...)      queries to the latent space
 *                 quire_attention_forward(plan, ...)
 *                 quire_mla_v_up_proj(weights, ...)   results to [n_heads][v_head_dim] */
#ifndef QUIRE_MLA_H
#define QUIRE_MLA_H
#include <quire/attention.h>
#include <quire/kv_cache.h>
#include <quire/status.h>
#include <quire/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Dimensions under the names of model configurations. kv_lora_rank + qk_rope_head_dim,
 *  qk_nope_head_dim + qk_rope_head_dim and v_head_dim are at most 1024, the largest head size. */
struct quire_mla_dims {
    uint32_t struct_size;
    uint32_t n_heads;      /**< 1 .. 65536 */
    uint32_t q_lora_rank;  /**< rank of the query projection, 0 = none; not used by the library */
    uint32_t kv_lora_rank; /**< >= 1 */
    uint32_t qk_nope_head_dim; /**< >= 1 */
    uint32_t qk_rope_head_dim; /**< may be 0 */
    uint32_t v_head_dim;       /**< >= 1 */
};
QUIRE_API void quire_mla_dims_init(struct quire_mla_dims *dims, size_t struct_size);

/** YaRN factor of the attention scores: 1 for factor <= 1, else 0.1 * mscale * ln(factor) + 1,
 *  where mscale is the model's mscale_all_dim. A model whose mscale_all_dim is 0 uses 1. */
QUIRE_API float quire_mla_yarn_mscale(float factor, float mscale);

/** Fills in the configuration of a latent KV group with one KV head; rows of dtype, no window,
 *  scales 1.
 *  QUIRE_E_INVALID_ARG a NULL pointer or a size out of range; QUIRE_E_MISUSE dims->struct_size.
 *  *out is unchanged on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_mla_kv_group(const struct quire_mla_dims *dims,
                                                           enum quire_kv_dtype dtype,
                                                           uint32_t n_layers, uint32_t n_blocks,
                                                           struct quire_kv_group_config *out,
                                                           struct quire_error *err);

/** Fills in the attention configuration for such a group: scale mscale^2 /
 *  sqrt(qk_nope_head_dim + qk_rope_head_dim), the rest as quire_attention_config_init. mscale is
 *  finite and above 0. out->struct_size is set by the caller. Errors as above; QUIRE_E_MISUSE also
 *  for out->struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_mla_absorbed_config(const struct quire_mla_dims *dims, float mscale,
                          struct quire_attention_config *out, struct quire_error *err);

/** Fills in the configuration of the same attention over expanded keys and values: n_heads KV
 *  heads, keys of qk_nope_head_dim + qk_rope_head_dim, values of v_head_dim elements. Errors as
 *  above. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_mla_expanded_config(const struct quire_mla_dims *dims, float mscale,
                          struct quire_attention_config *out, struct quire_error *err);

/* ---- Products with W_UK and W_UV */

struct quire_mla_weights_params {
    uint32_t struct_size;
    const struct quire_mla_dims *dims;
    /** kv_b_proj as checkpoints store it, [n_heads][qk_nope_head_dim + v_head_dim][kv_lora_rank]:
     *  per head W_UK, then W_UV. Read during create only; any alignment. */
    const void *kv_b;
    enum quire_kv_dtype dtype;               /**< dtype of kv_b: f32, bf16 or f16 */
    const char *isa;                         /**< exact ISA level name, NULL = best */
    const struct quire_allocator *allocator; /**< borrowed, outlives the object; NULL = C library */
};
QUIRE_API void quire_mla_weights_params_init(struct quire_mla_weights_params *params,
                                             size_t struct_size);

struct quire_mla_weights; /**< Packed W_UK and W_UV of one layer; immutable, may be shared. */

/** Packs the weights.
 *  QUIRE_E_INVALID_ARG a NULL pointer, a size out of range, dtype, isa unknown; QUIRE_E_UNSUPPORTED
 *  isa (not on this CPU); QUIRE_E_LIMIT; QUIRE_E_NOMEM; QUIRE_E_MISUSE a struct_size. *out belongs
 *  to the caller (quire_mla_weights_destroy); NULL on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_mla_weights_create(const struct quire_mla_weights_params *params,
                         struct quire_mla_weights **out, struct quire_error *err);
QUIRE_API void quire_mla_weights_destroy(struct quire_mla_weights *weights); /**< NULL is a no-op */

/** Rows (token, head) of in and out, at pointer + token * token_stride + head * head_stride.
 *  Strides count floats; 0 = dense: [n_tokens][n_heads][row]. in and out are aligned to 4 bytes and
 *  do not overlap. */
struct quire_mla_args {
    uint32_t struct_size;
    const float *in;
    float *out; /**< overwritten */
    size_t in_token_stride, in_head_stride, out_token_stride, out_head_stride;
    size_t n_tokens; /**< 0 is valid: no work */
};
QUIRE_API void quire_mla_args_init(struct quire_mla_args *args, size_t struct_size);

/** Projects queries to the latent space: [q_nope; q_rope] to [W_UK^T q_nope; q_rope], rows of
 *  qk_nope_head_dim + qk_rope_head_dim in, of kv_lora_rank + qk_rope_head_dim out. Values stay f32;
 *  each output is one chain of fused multiply-adds over ascending elements of q_nope, so the result
 *  is batch-invariant and deterministic.
 *  threads  executes the work; NULL: the calling thread
 *  QUIRE_E_INVALID_ARG a NULL or misaligned pointer, a stride smaller than a row, sizes that
 *  overflow, or in and out that overlap; QUIRE_E_BUSY threads is in use; QUIRE_E_MISUSE
 *  struct_size. out is unchanged on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_mla_absorb(const struct quire_mla_weights *weights,
                                                         const struct quire_mla_args *args,
                                                         struct quire_threads *threads,
                                                         struct quire_error *err);

/** Up-projects attention results with W_UV: rows of kv_lora_rank in, of v_head_dim out. Otherwise
 *  as quire_mla_absorb. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_mla_v_up_proj(const struct quire_mla_weights *weights,
                                                            const struct quire_mla_args *args,
                                                            struct quire_threads *threads,
                                                            struct quire_error *err);

/** Perform the checks of the two calls only. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_mla_absorb_check(const struct quire_mla_weights *weights, const struct quire_mla_args *args,
                       struct quire_error *err);
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_mla_v_up_proj_check(const struct quire_mla_weights *weights,
                          const struct quire_mla_args *args, struct quire_error *err);

/** Execute the share of one team member in a call whose arguments have passed the check. All
 *  members call it with the same arguments; no barrier inside. */
QUIRE_API void quire_mla_absorb_part(const struct quire_mla_weights *weights,
                                     const struct quire_mla_args *args,
                                     const struct quire_team *team);
QUIRE_API void quire_mla_v_up_proj_part(const struct quire_mla_weights *weights,
                                        const struct quire_mla_args *args,
                                        const struct quire_team *team);

#ifdef __cplusplus
}
#endif
#endif
