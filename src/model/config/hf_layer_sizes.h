/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_sizes.h - keys of config.json that give layers heads, keys and values, or feed-forward
 * networks of their own, and per-layer embeddings. */
#ifndef QR_MODEL_CONFIG_HF_LAYER_SIZES_H
#define QR_MODEL_CONFIG_HF_LAYER_SIZES_H
#include "model/config/hf_keys.h"

/* Requires the layers with their windows. */
quire_status qr_hf_read_layer_sizes(const struct qr_hf_source *h);

#endif
