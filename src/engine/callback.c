/* SPDX-License-Identifier: Apache-2.0 */
/* callback.c - events delivered by calling the host, after the step, without the engine's lock. */
#include "engine/callback.h"
#include "base/error.h"
#include "engine/events.h"
#include "engine/request.h"

/* Its address identifies the thread. */
static _Thread_local char this_thread;

bool qr_engine_in_callback(const struct quire_engine *e)
{
    return __atomic_load_n(&e->callback_thread, __ATOMIC_RELAXED) == &this_thread;
}

quire_status qr_engine_check_callback(const struct quire_engine *e, struct quire_error *err)
{
    return qr_engine_in_callback(e)
               ? qr_fail(err, QUIRE_E_MISUSE, "an event callback of this engine makes the call")
               : QUIRE_OK;
}

void qr_callback_add(struct quire_engine *e, struct qr_request *r)
{
    if (r->callback_due)
        return;
    r->callback_due = true;
    r->next_callback = NULL;
    *(e->callbacks ? &e->last_callback->next_callback : &e->callbacks) = r;
    e->last_callback = r;
}

/* Delivers one event. The slot of an ended answer is free before its last callback, which may
 * submit the next request, but the answer stays active until that callback has returned: a host
 * that waited for it may then free what the callback uses. The caller holds the lock, which is
 * released meanwhile. */
static void deliver(struct quire_engine *e, struct qr_request *r, const struct quire_event *ev)
{
    const quire_event_callback callback = r->event_callback;
    void *const user = r->event_user;
    const bool last = ev->kind == QUIRE_EVENT_DONE;
    if (last)
        r->state = QR_REQUEST_POLLED;
    e->callback_id = ev->id;
    pthread_mutex_unlock(&e->lock);
    if (last)
        qr_request_release(e, r);
    if (callback(user, e, ev) != QUIRE_OK)
        (void)quire_request_cancel(e, ev->id); /* fails when the request has ended */
    pthread_mutex_lock(&e->lock);
    e->callback_id = 0;
    if (!last)
        return;
    __atomic_store_n(&e->n_active, e->n_active - 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&e->events_changed); /* the descriptor is for events to be polled */
}

void qr_callbacks_run(struct quire_engine *e)
{
    if (!e->callbacks)
        return;
    __atomic_store_n(&e->callback_thread, &this_thread, __ATOMIC_RELAXED);
    pthread_mutex_lock(&e->lock);
    while (e->callbacks) {
        struct qr_request *r = e->callbacks;
        e->callbacks = r->next_callback;
        r->callback_due = false;
        struct quire_event ev = { .kind = QUIRE_EVENT_NONE };
        while (ev.kind != QUIRE_EVENT_DONE && qr_event_next(r, &ev))
            deliver(e, r, &ev);
    }
    pthread_mutex_unlock(&e->lock);
    __atomic_store_n(&e->callback_thread, NULL, __ATOMIC_RELAXED);
}
