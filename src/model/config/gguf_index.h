/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_index.h - the indexer of sparse attention in GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_INDEX_H
#define QR_MODEL_CONFIG_GGUF_INDEX_H
#include "model/config/gguf_keys.h"

quire_status qr_gguf_read_index(const struct qr_gguf_source *s);

#endif
