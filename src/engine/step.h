/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one step of all running requests. */
#ifndef QR_ENGINE_STEP_H
#define QR_ENGINE_STEP_H
#include "engine/types.h"

/* Takes new requests, ends cancelled ones, plans, computes and samples; then publishes the results.
 * QUIRE_E_BUSY: the engine's threads are in use; nothing was computed. */
quire_status qr_step_run(struct quire_engine *e, struct quire_error *err);

/* The forward pass of a batch by as many threads as are fastest for it. logits[n_logits of the
 * batch][vocab_size of the model]; hidden[n_tokens of the batch][hidden_size] or NULL. */
quire_status qr_forward(struct quire_context *context, struct qr_team_size *team,
                        const struct qr_batch *b, float *logits, float *hidden,
                        struct quire_error *err);

#endif
