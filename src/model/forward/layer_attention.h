/* SPDX-License-Identifier: Apache-2.0 */
/* layer_attention.h - the self-attention sublayer. */
#ifndef QR_MODEL_FORWARD_LAYER_ATTENTION_H
#define QR_MODEL_FORWARD_LAYER_ATTENTION_H
#include "model/forward/types.h"

/* Computes the sublayer from the residual stream into out[n_tokens][hidden]. `normed`: the block
 * norms its input. All threads call it; ends with a barrier. */
void qr_attention_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                           const struct quire_team *team);

/* The same from complete rows src [n_tokens][columns of the projections], without a norm. With few
 * rows (QR_REPLICATED_ROWS_MAX) src may be the thread's own copy. */
void qr_attention_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team);

/* Writes the keys and values of complete rows src [n_tokens][columns of the projections] of a layer
 * with plain attention to the cache. All threads call it after a barrier; ends with one. */
void qr_attention_store(const struct qr_step *s, uint32_t i, const float *src,
                        const struct quire_team *team);

/* Attention temperature: the factor of the queries at a position, in layers that attend to very
 * long contexts. temperature_floor must not be 0. */
float qr_attention_temperature(const struct qr_model_config *c, uint32_t position);

#endif
