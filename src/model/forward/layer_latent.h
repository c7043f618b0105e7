/* SPDX-License-Identifier: Apache-2.0 */
/* layer_latent.h - latent attention (MLA). */
#ifndef QR_MODEL_FORWARD_LAYER_LATENT_H
#define QR_MODEL_FORWARD_LAYER_LATENT_H
#include "model/forward/types.h"

/* Computes latent attention of layer i from src into ctx->att, for all rows of the step. A thread
 * reads only its own rows of src. All threads call it; ends with a barrier. */
void qr_latent_attention(const struct qr_step *s, uint32_t i, const float *src,
                         const struct quire_team *team);

#endif
