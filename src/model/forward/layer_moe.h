/* SPDX-License-Identifier: Apache-2.0 */
/* layer_moe.h - the mixture of experts of a layer. */
#ifndef QR_MODEL_FORWARD_LAYER_MOE_H
#define QR_MODEL_FORWARD_LAYER_MOE_H
#include "model/forward/types.h"

/* With router_before_mixer, before the mixer of a layer: copies the thread's rows of the residual
 * stream for the router. A barrier follows before qr_moe(). */
void qr_moe_keep_router_input(const struct qr_step *s, const struct quire_team *team);

/* Computes the mixture of experts of layer i from src into out, for all rows of the step. src is
 * complete. All threads call it; ends with a barrier. */
void qr_moe(const struct qr_step *s, uint32_t i, const float *src, float *out,
            const struct quire_team *team);

#endif
