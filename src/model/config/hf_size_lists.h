/* SPDX-License-Identifier: Apache-2.0 */
/* hf_size_lists.h - lists of head counts and of feed-forward widths by layer in config.json. */
#ifndef QR_MODEL_CONFIG_HF_SIZE_LISTS_H
#define QR_MODEL_CONFIG_HF_SIZE_LISTS_H
#include "model/config/hf_keys.h"

/* num_query_heads, num_kv_heads, ffn_multipliers. */
quire_status qr_hf_read_size_lists(const struct qr_hf_source *h);

#endif
