/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_streams.h - gated hyper-connections and embeddings of n-grams in GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_STREAMS_H
#define QR_MODEL_CONFIG_GGUF_STREAMS_H
#include "model/config/gguf_keys.h"

/* Sets cfg->hyper and cfg->ngram in families that have them. Requires the sizes and the layers. */
quire_status qr_gguf_read_streams(const struct qr_gguf_source *s);

#endif
