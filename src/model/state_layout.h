/* SPDX-License-Identifier: Apache-2.0 */
/* state_layout.h - where the recurrent layers of a model lie in the state of a sequence. */
#ifndef QR_MODEL_STATE_LAYOUT_H
#define QR_MODEL_STATE_LAYOUT_H
#include "model/load/model.h"

/* Whether a layer has a recurrent state, or keys and values. */
static inline bool qr_layer_recurs(const struct qr_layer_config *l)
{
    return l->mixer == QR_MIXER_RECURRENT || l->mixer == QR_MIXER_BOTH;
}
static inline bool qr_layer_attends(const struct qr_layer_config *l)
{
    return l->mixer == QR_MIXER_ATTENTION || l->mixer == QR_MIXER_BOTH;
}

/* Channels of the causal convolution; 0: none. */
uint64_t qr_recurrent_conv_width(const struct qr_recurrent_config *r);

/* Assigns the offsets of all recurrent layers and the size of a state. A layer has the last inputs
 * of its convolution, [taps - 1][channels], oldest first, and then the state, [head][key][value] or
 * for Mamba-1 [key][channel]; both begin at multiples of 64 bytes. QUIRE_E_LIMIT. */
quire_status qr_model_place_states(struct quire_model *m, struct quire_error *err);

#endif
