/* SPDX-License-Identifier: Apache-2.0 */
/* hf_block_configs.h - config.json: sublayers and sizes by layer, in block_configs. */
#ifndef QR_MODEL_CONFIG_HF_BLOCK_CONFIGS_H
#define QR_MODEL_CONFIG_HF_BLOCK_CONFIGS_H
#include "model/config/hf_keys.h"

/* Reads block_configs: mixer, no_ffn, n_kv_heads and ffn_size of every layer. */
quire_status qr_hf_read_block_configs(const struct qr_hf_source *h);

#endif
