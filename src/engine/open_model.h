/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.h - opens the model and the tokenizer of an engine, or takes those of the caller. */
#ifndef QR_ENGINE_OPEN_MODEL_H
#define QR_ENGINE_OPEN_MODEL_H
#include "engine/types.h"

/* Comes before the model: it takes little time, and its failure saves loading the weights. */
quire_status qr_engine_open_tokenizer(struct quire_engine *e, const struct quire_engine_params *p,
                                      struct quire_error *err);

uint64_t qr_engine_tokenizer_bytes(const struct quire_engine *e);

quire_status qr_engine_open_model(struct quire_engine *e, const struct quire_engine_params *p,
                                  struct quire_error *err);

/* Replaces a tokenizer or template error by that of the model where there is one: a path without a
 * model, an unsupported architecture or kind of model is then the cause. */
quire_status qr_engine_prefer_model_error(const struct quire_engine_params *p, quire_status status,
                                          struct quire_error *err);

#endif
