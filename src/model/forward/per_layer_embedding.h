/* SPDX-License-Identifier: Apache-2.0 */
/* per_layer_embedding.h - per-layer embeddings (struct qr_ple_config): a vector for each token and
 * layer, and what a layer makes of it. */
#ifndef QR_MODEL_FORWARD_PER_LAYER_EMBEDDING_H
#define QR_MODEL_FORWARD_PER_LAYER_EMBEDDING_H
#include "model/forward/types.h"

struct qr_bump;

/* Reserves the buffers of a context; none in models without per-layer embeddings. */
void qr_ple_reserve(const struct quire_model *model, struct quire_context *ctx, struct qr_bump *c);

/* Computes the vectors of all rows and layers from token ids and the input of the first layer. Ends
 * with a barrier. */
void qr_ple_prepare(const struct qr_step *s, const struct quire_team *team);

/* out = W_out(act(W_gate x) * e) for layer i and all rows, before the output's norm. Ends with a
 * barrier. */
void qr_ple_sublayer(const struct qr_step *s, uint32_t i, float *out,
                     const struct quire_team *team);

#endif
