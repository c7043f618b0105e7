/* SPDX-License-Identifier: Apache-2.0 */
/* layer_recurrent.h - the recurrent sublayer: norm, projections, convolution, recurrence, gate,
 * output projection. */
#ifndef QR_MODEL_FORWARD_LAYER_RECURRENT_H
#define QR_MODEL_FORWARD_LAYER_RECURRENT_H
#include "model/forward/types.h"

/* out[rows][hidden] = recurrent layer i of the residual stream, normalized first if `normed`. Reads
 * and advances the states of the step's sequences. Ends with a barrier. */
void qr_recurrent_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                           const struct quire_team *team);

/* The same from rows src that the thread has computed (thread_state.h), without a norm. */
void qr_recurrent_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team);

#endif
