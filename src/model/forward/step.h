/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - checks shared by decoder steps and encoder passes, and running a step on the team. */
#ifndef QR_MODEL_FORWARD_STEP_H
#define QR_MODEL_FORWARD_STEP_H
#include "model/forward/types.h"

/* The attention plan of decoder steps: the bytes it will allocate, and its creation. There is none
 * without a cache. */
quire_status qr_step_plan_bytes(const struct quire_model *model, const struct quire_context *limits,
                                uint64_t *bytes, struct quire_error *err);
quire_status qr_step_plan_create(struct quire_context *ctx, struct quire_error *err);

/* Fills positions and rotary lengths of all rows. query_start_loc is checked. */
void qr_step_place_rows(const struct qr_step *s);

/* Checks that token ids and positions are in range; QUIRE_E_INVALID_ARG without token ids and
 * embeddings. */
quire_status qr_step_check_tokens(const struct qr_step *s, struct quire_error *err);

/* Checks that logits_rows[n_logits] are rows of the step and fit the context. */
quire_status qr_step_check_logits(const struct qr_step *s, struct quire_error *err);

/* Runs the step on the context's threads, or on the caller. Sets s->replicated. */
quire_status qr_step_execute(struct qr_step *s, struct quire_error *err);

#endif
