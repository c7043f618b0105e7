/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - picks the request of the next step: first come, first served. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "engine/call_guard.h"
#include "engine/request.h"
#include "engine/step.h"

/* Finishes cancelled requests wherever they are in the queue and returns the oldest active one, or
 * NULL. */
static struct qr_request *next_request(struct quire_engine *e)
{
    struct qr_request *next = NULL;
    for (uint32_t i = 0; i < e->n_requests; i++) {
        struct qr_request *r = &e->requests[i];
        if (!qr_request_is_active(r))
            continue;
        if (qr_request_cancelled(r))
            qr_request_flush_and_finish(r, QUIRE_FINISH_CANCELLED);
        else if (!next || r->id < next->id)
            next = r;
    }
    return next;
}

quire_status quire_engine_step(struct quire_engine *engine, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_engine_enter(engine, err));
    qr_request_free_reported(engine);
    struct qr_request *r = next_request(engine);
    if (r)
        qr_step_run(engine, r);
    qr_engine_leave(engine);
    return QUIRE_OK;
}
