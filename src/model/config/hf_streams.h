/* SPDX-License-Identifier: Apache-2.0 */
/* hf_streams.h - hyper-connections and embeddings of n-grams in config.json. */
#ifndef QR_MODEL_CONFIG_HF_STREAMS_H
#define QR_MODEL_CONFIG_HF_STREAMS_H
#include "model/config/hf_keys.h"
#include <quire/status.h>

/* Reads the options of hyper-connections and of n-gram embeddings, in families with them. Requires
 * the layers and the sizes. */
quire_status qr_hf_read_streams(const struct qr_hf_source *h);

#endif
