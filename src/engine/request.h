/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what the files of the engine offer each other. */
#ifndef QR_ENGINE_REQUEST_H
#define QR_ENGINE_REQUEST_H
#include "engine/engine_impl.h"

/* prompt.c */

/* Compiles the chat template: `source`, or the model's own when it is NULL. A model may have
 * none, or one that cannot be compiled; `source` must be good. */
quire_status qr_prompt_open_template(struct quire_engine *e, const char *source,
                                     struct quire_error *err);
void qr_prompt_close_template(struct quire_engine *e);

/* The prompt of a request as checked token ids, with room for the answer behind them. */
struct qr_prompt {
    int32_t *tokens; /* [capacity] */
    uint32_t n, capacity;
};
/* On failure there is nothing to free. */
quire_status qr_prompt_make(const struct quire_engine *e, const struct quire_request_params *p,
                            struct qr_prompt *prompt, struct quire_error *err);

/* request.c */

/* Makes a free slot of it, whatever its state. */
void qr_request_free(struct quire_engine *e, struct qr_request *r);

/* Frees the slots whose last event was handed out; what the event pointed to goes. */
void qr_request_reap(struct quire_engine *e);

/* Ends a request: no token follows. The other forms also show the text that was held back, and
 * keep a failure. */
void qr_request_end(struct qr_request *r, enum quire_finish_reason reason);
void qr_request_finish(struct qr_request *r, enum quire_finish_reason reason);
void qr_request_fail(struct qr_request *r, quire_status status, const struct quire_error *err);

bool qr_request_cancelled(const struct qr_request *r);

static inline bool qr_request_is_active(const struct qr_request *r)
{
    return r->state == QR_REQUEST_WAITING || r->state == QR_REQUEST_RUNNING;
}

/* step.c */

quire_status qr_batch_init(struct qr_batch *b, uint32_t n_groups, uint32_t max_tokens,
                           const struct quire_allocator *allocator, struct quire_error *err);
void qr_batch_free(struct qr_batch *b, const struct quire_allocator *allocator);

/* Runs one forward pass for a request and, when its prompt is complete, chooses the next token.
 * Failures end the request. */
void qr_step_run(struct quire_engine *e, struct qr_request *r);

#endif
