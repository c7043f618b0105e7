/* SPDX-License-Identifier: Apache-2.0 */
/* hf_mixers.h - config.json: which layers have attention, a recurrent layer, or neither. */
#ifndef QR_MODEL_CONFIG_HF_MIXERS_H
#define QR_MODEL_CONFIG_HF_MIXERS_H
#include "model/config/hf_keys.h"

/* Number of layers: num_hidden_layers, or the length of the list or string that names the mixer of
 * each. */
quire_status qr_hf_read_layer_count(const struct qr_hf_source *h);

/* Mixer and feed-forward of each layer. Requires the layers. */
quire_status qr_hf_read_mixers(const struct qr_hf_source *h);

#endif
