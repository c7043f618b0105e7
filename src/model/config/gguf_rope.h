/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_rope.h - rotary parameters of GGUF files. */
#ifndef QR_MODEL_CONFIG_GGUF_ROPE_H
#define QR_MODEL_CONFIG_GGUF_ROPE_H
#include "model/config/gguf_keys.h"

/* Fills rope[] and n_rope. Requires head_dim, context_length and attention_scale, which YaRN scales
 * in MLA models. */
quire_status qr_gguf_read_rope(const struct qr_gguf_source *s);

#endif
