/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_compress.h - attention with shared keys and values, compressed keys and hyper-connections in
 * GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_COMPRESS_H
#define QR_MODEL_CONFIG_GGUF_COMPRESS_H
#include "model/config/gguf_keys.h"

/* Reads them in families with such attention. Requires the layers, windows and RoPE sets. */
quire_status qr_gguf_read_compress(const struct qr_gguf_source *s);

#endif
