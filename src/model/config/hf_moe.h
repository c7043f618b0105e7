/* SPDX-License-Identifier: Apache-2.0 */
/* hf_moe.h - mixture of experts in config.json. */
#ifndef QR_MODEL_CONFIG_HF_MOE_H
#define QR_MODEL_CONFIG_HF_MOE_H
#include "model/config/hf_keys.h"

/* Fills moe, and moe and ffn_size of every layer. Requires the layers. */
quire_status qr_hf_read_moe(const struct qr_hf_source *h);

#endif
