/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - the slots of requests and their owners. */
#ifndef QR_ENGINE_REQUEST_H
#define QR_ENGINE_REQUEST_H
#include "engine/types.h"

/* Frees what an answer owns. Its slot stays claimed. */
void qr_request_destroy(struct quire_engine *e, struct qr_request *r);

/* Returns the slot of a destroyed answer to the free ones. The caller holds the engine's lock. */
void qr_request_free_slot(struct quire_engine *e, struct qr_request *r);

/* Frees an answer in state QR_REQUEST_POLLED. The slot of a leader is kept until the last answer of
 * its group is released: it carries the group's id. The caller does not hold the lock. */
void qr_request_release(struct quire_engine *e, struct qr_request *r);

bool qr_request_cancelled(const struct qr_request *r);

/* Cancels every request that has not ended. */
void qr_request_cancel_all(struct quire_engine *e);

static inline struct qr_request *qr_request_of(struct qr_task *task)
{
    return (struct qr_request *)((char *)task - offsetof(struct qr_request, task));
}

#endif
