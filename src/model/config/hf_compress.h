/* SPDX-License-Identifier: Apache-2.0 */
/* hf_compress.h - attention with shared keys and values, and compressed keys, in config.json. */
#ifndef QR_MODEL_CONFIG_HF_COMPRESS_H
#define QR_MODEL_CONFIG_HF_COMPRESS_H
#include "model/config/hf_keys.h"
#include <quire/status.h>

/* Reads the sizes, and which layers have compressed keys and an indexer, in families with such
 * attention. Requires the layers, windows and RoPE sets. */
quire_status qr_hf_read_compress(const struct qr_hf_source *h);

#endif
