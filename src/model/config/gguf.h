/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.h - model configuration from GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_H
#define QR_MODEL_CONFIG_GGUF_H
#include "model/arch/model_config.h"
#include <quire/status.h>

struct qr_gguf;

/* Builds and validates the configuration of an open GGUF file. QUIRE_E_UNSUPPORTED: unknown
 * architecture or option, named; QUIRE_E_FORMAT: the message names the key. On failure *cfg owns
 * nothing. */
quire_status qr_model_config_from_gguf(const struct qr_gguf *g, const struct quire_allocator *a,
                                       struct qr_model_config *cfg, struct quire_error *err);

#endif
