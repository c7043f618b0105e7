/* SPDX-License-Identifier: Apache-2.0 */
/* hf_tokens.h - special tokens and sampling defaults of config.json and generation_config.json. */
#ifndef QR_MODEL_CONFIG_HF_TOKENS_H
#define QR_MODEL_CONFIG_HF_TOKENS_H
#include "model/config/hf_keys.h"

/* Fills the token ids from config.json and then from generation_config.json, which takes precedence
 * and also provides sampling. generation may be NULL. */
quire_status qr_hf_read_tokens(const struct qr_hf_source *h, const struct qr_json *generation);

#endif
