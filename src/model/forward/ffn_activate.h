/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_activate.h - activation functions of feed-forward networks. */
#ifndef QR_MODEL_FORWARD_FFN_ACTIVATE_H
#define QR_MODEL_FORWARD_FFN_ACTIVATE_H
#include "kernels/kernels.h"
#include "model/config/config.h"

/* Computes gate = act(gate) * up over n elements; with up NULL, gate = act(gate). Overwrites up. */
void qr_ffn_activate(const struct qr_model_config *c, const struct qr_kernels *k, float *gate,
                     float *up, size_t n);

#endif
