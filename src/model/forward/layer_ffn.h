/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.h - the feed-forward sublayer. */
#ifndef QR_MODEL_FORWARD_LAYER_FFN_H
#define QR_MODEL_FORWARD_LAYER_FFN_H
#include "model/forward/types.h"

/* Computes the sublayer, dense or mixture of experts, from the residual stream into
 * out[n_tokens][hidden]. `normed`: the block norms its input. All threads call it; ends with a
 * barrier. */
void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                     const struct quire_team *team);

/* The dense network of layer i, from rows src that the thread has computed (thread_state.h). Ends
 * with a barrier. */
void qr_ffn_dense_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team);

#endif
