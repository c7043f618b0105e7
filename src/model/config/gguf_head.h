/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_head.h - metadata of GGUF files of heads of multi-token prediction. */
#ifndef QR_MODEL_CONFIG_GGUF_HEAD_H
#define QR_MODEL_CONFIG_GGUF_HEAD_H
#include "model/config/gguf_keys.h"

/* Sets qr_mtp_config and the source of keys and values, in families that are such heads
 * (qr_arch.head_of). QUIRE_E_FORMAT with the key. */
quire_status qr_gguf_read_head(const struct qr_gguf_source *s);

#endif
