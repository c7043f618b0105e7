/* SPDX-License-Identifier: Apache-2.0 */
/* hf_pooling.h - pooling mode of sentence-transformers models. */
#ifndef QR_MODEL_CONFIG_HF_POOLING_H
#define QR_MODEL_CONFIG_HF_POOLING_H
#include "model/config/hf_keys.h"
#include <quire/status.h>
#include <stddef.h>

/* Sets cfg->pooling from the key "pooling" of config.json, in families that have it. */
quire_status qr_hf_read_pooling(const struct qr_hf_source *h);

/* Sets cfg->pooling from the text of 1_Pooling/config.json. A mode that is not supported, or a
 * second one, is named in cfg->embedding_module: a program can select another pooling. */
quire_status qr_model_config_read_pooling(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err);

/* Names a module that the author's embeddings need and quire does not compute, for messages; the
 * first one counts. */
void qr_model_config_refuse_module(struct qr_model_config *cfg, const char *file, const char *name);

/* Enters the folders of dense layers behind the pooling in cfg->dense. Sets cfg->embedding_module
 * to the first other module of modules.json than the transformer, pooling and normalization. */
quire_status qr_model_config_read_modules(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err);

/* Reads the config.json of dense layer i, whose name is `what`. The layers before it are read.
 * QUIRE_E_FORMAT if it does not fit behind them. */
quire_status qr_model_config_read_dense(struct qr_model_config *cfg, uint32_t i, const char *what,
                                        const char *json, size_t size, struct quire_error *err);

#endif
