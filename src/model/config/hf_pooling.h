/* SPDX-License-Identifier: Apache-2.0 */
/* hf_pooling.h - pooling mode of sentence-transformers models. */
#ifndef QR_MODEL_CONFIG_HF_POOLING_H
#define QR_MODEL_CONFIG_HF_POOLING_H
#include "model/arch/model_config.h"
#include <quire/status.h>
#include <stddef.h>

/* Sets cfg->pooling from the text of 1_Pooling/config.json. A mode that is not supported, or a
 * second one, is named in cfg->embedding_module: a program can select another pooling. */
quire_status qr_model_config_read_pooling(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err);

/* Sets cfg->embedding_module to the first module of modules.json that is neither the transformer
 * nor pooling nor normalization. */
quire_status qr_model_config_read_modules(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err);

#endif
