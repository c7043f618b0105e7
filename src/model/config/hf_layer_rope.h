/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_rope.h - keys of config.json that give layers RoPE or none, or a base of their own. */
#ifndef QR_MODEL_CONFIG_HF_LAYER_ROPE_H
#define QR_MODEL_CONFIG_HF_LAYER_ROPE_H
#include "model/config/hf_keys.h"

/* Changes `rope` of the layers, which has been set by their windows, and adds RoPE sets. */
quire_status qr_hf_read_layer_rope(const struct qr_hf_source *h);

#endif
