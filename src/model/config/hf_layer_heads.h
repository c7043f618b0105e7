/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_heads.h - keys of config.json about heads and sinks by layer, and attention gates. */
#ifndef QR_MODEL_CONFIG_HF_LAYER_HEADS_H
#define QR_MODEL_CONFIG_HF_LAYER_HEADS_H
#include "model/config/hf_keys.h"

/* Requires the windows of the layers. */
quire_status qr_hf_read_layer_heads(const struct qr_hf_source *h);

#endif
