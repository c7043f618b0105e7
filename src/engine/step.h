/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one forward pass of one request. */
#ifndef QR_ENGINE_STEP_H
#define QR_ENGINE_STEP_H
#include "engine/types.h"

/* Reserves a batch of up to max_tokens tokens. On failure there is nothing to free. */
quire_status qr_batch_init(struct qr_batch *b, uint32_t n_groups, uint32_t max_tokens,
                           const struct quire_allocator *allocator, struct quire_error *err);
void qr_batch_free(struct qr_batch *b, const struct quire_allocator *allocator);

/* Runs one prefill chunk or one decode step of a request. The step that completes the prompt and
 * every decode step sample one token. A failure finishes the request. */
void qr_step_run(struct quire_engine *e, struct qr_request *r);

#endif
