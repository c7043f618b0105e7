/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_moe.h - mixture of experts in GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_MOE_H
#define QR_MODEL_CONFIG_GGUF_MOE_H
#include "model/config/gguf_keys.h"

/* Fills moe and the moe flag of every layer. Requires the layers. */
quire_status qr_gguf_read_moe(const struct qr_gguf_source *s);

#endif
