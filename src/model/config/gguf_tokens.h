/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tokens.h - special tokens and sampling defaults of GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_TOKENS_H
#define QR_MODEL_CONFIG_GGUF_TOKENS_H
#include "model/config/gguf_keys.h"

/* Fills the token ids and sampling. Requires vocab_size. */
quire_status qr_gguf_read_tokens(const struct qr_gguf_source *s);

#endif
