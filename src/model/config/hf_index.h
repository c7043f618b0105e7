/* SPDX-License-Identifier: Apache-2.0 */
/* hf_index.h - the indexer of sparse attention in config.json. */
#ifndef QR_MODEL_CONFIG_HF_INDEX_H
#define QR_MODEL_CONFIG_HF_INDEX_H
#include "model/config/hf_keys.h"

quire_status qr_hf_read_index(const struct qr_hf_source *h);

#endif
