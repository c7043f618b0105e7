/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - state transitions of a request. */
#ifndef QR_ENGINE_REQUEST_H
#define QR_ENGINE_REQUEST_H
#include "engine/types.h"

/* Frees what a request owns and marks its slot free, in any state. */
void qr_request_free(struct quire_engine *e, struct qr_request *r);

/* Frees the requests whose last event was polled, and with them the memory that event points to. */
void qr_request_free_reported(struct quire_engine *e);

/* Marks a request finished: no token follows. */
void qr_request_finish(struct qr_request *r, enum quire_finish_reason reason);

/* Flushes the detokenizer and a partial stop string into the output text, then finishes. A failure
 * of the flush becomes the request's failure. */
void qr_request_flush_and_finish(struct qr_request *r, enum quire_finish_reason reason);

/* Finishes with QUIRE_FINISH_ERROR and keeps the message. */
void qr_request_fail(struct qr_request *r, quire_status status, const struct quire_error *err);

bool qr_request_cancelled(const struct qr_request *r);

static inline bool qr_request_is_active(const struct qr_request *r)
{
    return r->state == QR_REQUEST_WAITING || r->state == QR_REQUEST_RUNNING;
}

#endif
