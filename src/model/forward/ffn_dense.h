/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_dense.h - the dense feed-forward network: down(act(gate(x)) * up(x)). */
#ifndef QR_MODEL_FORWARD_FFN_DENSE_H
#define QR_MODEL_FORWARD_FFN_DENSE_H
#include "model/forward/types.h"

struct qr_ffn_roles {
    enum qr_weight_role gate, up, down, gate_bias, up_bias, down_bias;
};

/* Computes the network from src into out, for all rows of the step. All threads call it; ends
 * with a barrier. */
void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer,
                  const struct qr_ffn_roles *roles, const float *src, float *out,
                  const struct quire_team *team);

#endif
