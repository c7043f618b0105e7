/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.h - model configuration from GGUF metadata. */
#ifndef QR_MODEL_CONFIG_GGUF_H
#define QR_MODEL_CONFIG_GGUF_H
#include "model/arch/model_config.h"
#include <quire/status.h>

struct qr_gguf;
struct qr_unknown_policy;

/* Builds and validates the configuration of an open GGUF file. policy: what happens with unknown
 * keys of the architecture; NULL = errors. QUIRE_E_UNSUPPORTED: unknown architecture, option or
 * key, named; QUIRE_E_FORMAT: the message names the key. On failure *cfg owns nothing. */
quire_status qr_model_config_from_gguf(const struct qr_gguf *g,
                                       const struct qr_unknown_policy *policy,
                                       const struct quire_allocator *a, struct qr_model_config *cfg,
                                       struct quire_error *err);

#endif
