/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_layer_sizes.h - metadata of GGUF files that gives layers heads, keys and values of their
 * own, and per-layer embeddings. */
#ifndef QR_MODEL_CONFIG_GGUF_LAYER_SIZES_H
#define QR_MODEL_CONFIG_GGUF_LAYER_SIZES_H
#include "model/config/gguf_keys.h"

/* Requires the layers with their windows. */
quire_status qr_gguf_read_layer_sizes(const struct qr_gguf_source *s);

#endif
