/* SPDX-License-Identifier: Apache-2.0 */
/* time_mix6.h - the recurrent sublayer of RWKV-6, "time mix". */
#ifndef QR_MODEL_FORWARD_TIME_MIX6_H
#define QR_MODEL_FORWARD_TIME_MIX6_H
#include "model/forward/types.h"

/* out[n_tokens][hidden] = the sublayer of the residual stream, normalized first. Reads and advances
 * the states of the step's sequences. Ends with a barrier. */
void qr_time_mix6(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);

#endif
