/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_activate.h - activation functions of feed-forward networks. */
#ifndef QR_MODEL_FORWARD_FFN_ACTIVATE_H
#define QR_MODEL_FORWARD_FFN_ACTIVATE_H
#include "kernels/kernels.h"
#include "model/load/model.h"

/* Computes gate = act(gate) * up over n elements; with up NULL, gate = act(gate). Overwrites up.
 * act: parameters of the model's activation. */
void qr_ffn_activate(const struct quire_model *m, const struct qr_ffn_act *act, float *gate,
                     float *up, size_t n);

#endif
