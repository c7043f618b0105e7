/* SPDX-License-Identifier: Apache-2.0 */
/* block_conv.h - convolutions over the rows of a block of a drafter, before and behind a sublayer
 * (DFlash 2). Taps reach back to the first row of the block:
 *
 *     y[p][c] = sum over taps t <= p of (base[side][t][c] + d[p][side][t][c / group]) * x[p - t][c]
 *
 * with d = PROJ h, h being the normed input of the sublayer, and side 0 before it, 1 behind it. The
 * additions of a channel are in the order of the taps. */
#ifndef QR_MODEL_FORWARD_BLOCK_CONV_H
#define QR_MODEL_FORWARD_BLOCK_CONV_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in other models. */
void qr_block_conv_reserve(const struct quire_model *model, struct quire_context *ctx,
                           struct qr_bump *buffers);

/* The rows that a sublayer of layer i reads instead of its normed input ctx->h: those of all
 * threads, complete. base: QR_W_MTP_ATTN_CONV or QR_W_MTP_FFN_CONV. Not in replicated mode. Ends
 * with a barrier. */
const float *qr_block_conv_before(const struct qr_step *s, uint32_t i, enum qr_weight_role base,
                                  const struct quire_team *team);

/* Convolves the rows of sub, the output of the sublayer, in place. Starts after a barrier; ends
 * with the thread's rows complete. */
void qr_block_conv_behind(const struct qr_step *s, uint32_t i, enum qr_weight_role base, float *sub,
                          const struct quire_team *team);

#endif
