/* SPDX-License-Identifier: Apache-2.0 */
/* token_shift.h - sublayers that read a mix of their input and that of the token before (RWKV-4, 6
 * and 7): the recurrent sublayer "time mix" and the feed-forward sublayer "channel mix". */
#ifndef QR_MODEL_FORWARD_TOKEN_SHIFT_H
#define QR_MODEL_FORWARD_TOKEN_SHIFT_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in other models. */
void qr_token_shift_reserve(const struct quire_model *model, struct quire_context *ctx,
                            struct qr_bump *buffers);

/* In the place of a role: the mixed row is the difference, the row before minus the row. */
#define QR_SHIFT_DIFFERENCE QR_W_N_ROLES

/* Norms the rows, mixes each with the row before it into recurrent.mixed[0] to [n - 1], and keeps
 * the last one of every sequence in its state, `offset` floats behind the layer's tail. Has
 * barriers: the mixed rows of all threads may be read afterwards. */
void qr_token_shift(const struct qr_step *s, uint32_t i, enum qr_weight_role norm,
                    enum qr_weight_role norm_bias, const enum qr_weight_role *mix_roles, int n,
                    size_t offset, const struct quire_team *team);

/* out[n_tokens][hidden] = the sublayer of the residual stream, normalized first. Reads and advances
 * the states of the step's sequences. Ends with a barrier. The time mix is that of RWKV-4; those of
 * RWKV-6 and 7 are in time_mix6.h and time_mix7.h. */
void qr_time_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);
void qr_channel_mix(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);

#endif
