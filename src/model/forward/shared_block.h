/* SPDX-License-Identifier: Apache-2.0 */
/* shared_block.h - layers whose recurrent sublayer also reads the output of a transformer block
 * that several layers share (struct qr_shared_block_config). */
#ifndef QR_MODEL_FORWARD_SHARED_BLOCK_H
#define QR_MODEL_FORWARD_SHARED_BLOCK_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in models without shared blocks. */
void qr_shared_block_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers);

/* out[n_tokens][hidden] = the recurrent sublayer of n1(x + block). Ends with a barrier. */
void qr_shared_block(const struct qr_step *s, uint32_t i, float *out,
                     const struct quire_team *team);

#endif
