/* SPDX-License-Identifier: Apache-2.0 */
/* hf_recurrent.h - recurrent layers in config.json: which layers, and their sizes. */
#ifndef QR_MODEL_CONFIG_HF_RECURRENT_H
#define QR_MODEL_CONFIG_HF_RECURRENT_H
#include "model/config/hf_keys.h"

/* Number of layers: num_hidden_layers, or the length of the list or string that names the mixer of
 * each. */
quire_status qr_hf_read_layer_count(const struct qr_hf_source *h);

/* Mixer and feed-forward of each layer. Requires the layers. */
quire_status qr_hf_read_mixers(const struct qr_hf_source *h);

/* Sizes and options of the recurrent layers. Requires head_dim and norm_eps. */
quire_status qr_hf_read_recurrent(const struct qr_hf_source *h);

#endif
