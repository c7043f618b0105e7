/* SPDX-License-Identifier: Apache-2.0 */
/* draft_model_open.h - opens, measures and closes the draft model of an engine. */
#ifndef QR_ENGINE_DRAFT_MODEL_OPEN_H
#define QR_ENGINE_DRAFT_MODEL_OPEN_H
#include "engine/capacity.h"
#include "engine/types.h"

/* Checks the fields of the draft model. */
quire_status qr_draft_model_check(const struct quire_engine_params *p, struct quire_error *err);

/* Opens the draft model of the parameters, if any, after the engine's own model and tokenizer, and
 * checks its kind and vocabulary. After a failure qr_draft_model_close() frees what there is. */
quire_status qr_draft_model_open(struct quire_engine *e, const struct quire_engine_params *p,
                                 struct quire_error *err);

/* Its model, or NULL. */
const struct quire_model *qr_draft_model_of(const struct quire_engine *e);

/* Creates the KV cache with the block counts of `capacity`, sets the sizes in e->info, and reserves
 * all memory of a step; in a dry run only the sizes. No-op without a draft model. */
quire_status qr_draft_model_reserve(struct quire_engine *e, const struct qr_capacity *capacity,
                                    const struct quire_engine_params *p, struct quire_error *err);

void qr_draft_model_close(struct quire_engine *e);

#endif
