/* SPDX-License-Identifier: Apache-2.0 */
/* layer_moe.h - the mixture of experts of a layer. */
#ifndef QR_MODEL_FORWARD_LAYER_MOE_H
#define QR_MODEL_FORWARD_LAYER_MOE_H
#include "model/forward/types.h"

/* Before the mixer of layer i: copies the thread's rows of the residual stream for a router that
 * reads it there, or norms them for experts that do. A barrier follows before qr_moe(). */
void qr_moe_keep_input(const struct qr_step *s, uint32_t i, const struct quire_team *team);

/* Computes the mixture of experts of layer i from src into out, for all rows of the step. src is
 * complete. All threads call it; ends with a barrier. */
void qr_moe(const struct qr_step *s, uint32_t i, const float *src, float *out,
            const struct quire_team *team);

#endif
