/* SPDX-License-Identifier: Apache-2.0 */
/* hf_rope.h - rotary parameters of config.json. */
#ifndef QR_MODEL_CONFIG_HF_ROPE_H
#define QR_MODEL_CONFIG_HF_ROPE_H
#include "model/config/hf_keys.h"

/* Fills rope[] and n_rope. Requires head_dim, context_length and attention_scale, which YaRN scales
 * in MLA models. */
quire_status qr_hf_read_rope(const struct qr_hf_source *h);

#endif
