/* SPDX-License-Identifier: Apache-2.0 */
/* layer_shared_kv.h - attention whose keys are its values (struct qr_shared_kv_config). */
#ifndef QR_MODEL_FORWARD_LAYER_SHARED_KV_H
#define QR_MODEL_FORWARD_LAYER_SHARED_KV_H
#include "model/forward/types.h"

/* Attention of layer i from src, as for qr_convert_input, up to the projections of the groups of
 * heads in ctx->compress.low. Ends with a barrier. */
void qr_shared_kv_attention(const struct qr_step *s, uint32_t i, const float *src,
                            const struct quire_team *team);

#endif
