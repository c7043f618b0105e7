/* SPDX-License-Identifier: Apache-2.0 */
/* token_shift.h - sublayers that read a mix of their input and that of the token before (RWKV-4):
 * the recurrent sublayer "time mix" and the feed-forward sublayer "channel mix". */
#ifndef QR_MODEL_FORWARD_TOKEN_SHIFT_H
#define QR_MODEL_FORWARD_TOKEN_SHIFT_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in other models. */
void qr_token_shift_reserve(const struct quire_model *model, struct quire_context *ctx,
                            struct qr_bump *buffers);

/* out[n_tokens][hidden] = the sublayer of the residual stream, normalized first. Reads and advances
 * the states of the step's sequences. Ends with a barrier. */
void qr_time_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);
void qr_channel_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);

#endif
