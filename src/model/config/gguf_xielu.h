/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_xielu.h - parameters of the xIELU activation in GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_XIELU_H
#define QR_MODEL_CONFIG_GGUF_XIELU_H
#include "model/config/gguf_keys.h"

/* Fills xielu of every layer in families with that activation. */
quire_status qr_gguf_read_xielu(const struct qr_gguf_source *s);

#endif
