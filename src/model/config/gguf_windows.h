/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_windows.h - layers with a sliding window or chunk, and layers without RoPE, in GGUF
 * metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_WINDOWS_H
#define QR_MODEL_CONFIG_GGUF_WINDOWS_H
#include "model/config/gguf_keys.h"

/* Fills window, chunked and rope of every layer, and the attention temperature of layers without
 * RoPE. Requires the layers and the RoPE sets. */
quire_status qr_gguf_read_windows(const struct qr_gguf_source *s);

#endif
