/* SPDX-License-Identifier: Apache-2.0 */
/* layer_cross.h - cross attention: the decoder's sublayer, and writing its keys and values. */
#ifndef QR_MODEL_FORWARD_LAYER_CROSS_H
#define QR_MODEL_FORWARD_LAYER_CROSS_H
#include "model/forward/types.h"

/* Computes the sublayer from the residual stream into out[n_tokens][hidden]. `normed`: the block
 * norms its input. All threads call it; ends with a barrier. */
void qr_cross_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                       const struct quire_team *team);

/* Computes keys and values of all layers from the encoder output in ctx->h and writes them to the
 * cache. All threads call it; ends with a barrier. */
void qr_cross_write(const struct qr_step *s, const struct quire_team *team);

#endif
