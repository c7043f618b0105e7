/* SPDX-License-Identifier: Apache-2.0 */
/* hf.h - model configuration from a Hugging Face config.json. */
#ifndef QR_MODEL_CONFIG_HF_H
#define QR_MODEL_CONFIG_HF_H
#include "model/arch/model_config.h"
#include <quire/status.h>
#include <stddef.h>

struct qr_unknown_policy;

/* Builds and validates the configuration from the text of config.json, of either style
 * (rope_scaling or rope_parameters), and of generation_config.json, which may be NULL. policy:
 * what happens with unknown keys of config.json; NULL = errors. Errors as for
 * qr_model_config_from_gguf. */
quire_status qr_model_config_from_hf(const char *config_json, size_t config_size,
                                     const char *generation_json, size_t generation_size,
                                     const struct qr_unknown_policy *policy,
                                     const struct quire_allocator *a, struct qr_model_config *cfg,
                                     struct quire_error *err);

#endif
