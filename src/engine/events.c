/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - events of requests: prefill progress, text, end of an answer. */
#include "engine/events.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/callback.h"
#include "engine/drive.h"
#include "engine/request.h"
#include <math.h>
#include <string.h>
#ifdef __linux__
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#endif

QR_DEFINE_ZERO_INIT(quire_event)

const char *quire_finish_reason_name(enum quire_finish_reason reason)
{
    switch (reason) {
    case QUIRE_FINISH_STOP:
        return "stop";
    case QUIRE_FINISH_LENGTH:
        return "length";
    case QUIRE_FINISH_CANCELLED:
        return "cancelled";
    case QUIRE_FINISH_ERROR:
        return "error";
    case QUIRE_FINISH_DEADLINE:
        return "deadline";
    case QUIRE_FINISH_NONE:
        break;
    }
    return "";
}

/* ---- Contents of an event. The caller of these functions holds the lock. */

static void report_text(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_TEXT;
    const struct qr_text_buffer text = r->text;
    r->text = r->polled;
    r->text.size = 0;
    r->polled = text;
    ev->text = text.size ? text.text : "";
    ev->text_size = text.size;
    ev->tokens = r->tokens + r->n_polled;
    ev->n_tokens = r->n_published - r->n_polled;
    if (r->logprobs) {
        ev->logprobs = r->logprobs + (size_t)r->n_polled * r->n_logprobs;
        ev->n_logprobs = r->n_logprobs;
    }
    r->n_polled = r->n_published;
    r->text_event_due = false;
}

static void report_vector(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_VECTOR;
    ev->values = r->vector.values;
    ev->n_values = r->vector.n_values;
    r->vector_event_due = false;
}

static void report_finish(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_DONE;
    ev->reason = r->reason;
    ev->context_full = r->context_full;
    ev->cumulative_logprob = r->sum_logprob;
    if (r->reason == QUIRE_FINISH_ERROR) {
        ev->status = r->error.code;
        memcpy(ev->message_data, r->error.msg, sizeof ev->message_data);
    }
}

static bool has_event(const struct qr_request *r)
{
    if (r->state == QR_REQUEST_FREE || r->state == QR_REQUEST_CLAIMED ||
        r->state == QR_REQUEST_POLLED || r->held)
        return false;
    return r->text_event_due || r->prompt_event_due || r->state == QR_REQUEST_FINISHED;
}

/* Fills in the next event of an answer that has one. The queue is state of the answer, not a list:
 * text that is not polled accumulates into one event. */
static void next_event(struct qr_request *r, struct quire_event *ev)
{
    if (r->text_event_due)
        report_text(r, ev);
    else if (r->vector_event_due)
        report_vector(r, ev);
    else if (r->state == QR_REQUEST_FINISHED)
        report_finish(r, ev);
    else
        ev->kind = QUIRE_EVENT_PROMPT;
    r->prompt_event_due = false; /* a later event supersedes prefill progress */
    ev->id = r->id;
    ev->choice = r->choice;
    ev->user = r->user;
    ev->usage_data = r->usage;
}

bool qr_event_next(struct qr_request *r, struct quire_event *ev)
{
    if (!has_event(r))
        return false;
    *ev = (struct quire_event){ .struct_size = sizeof *ev, .text = "" };
    next_event(r, ev);
    ev->usage = &ev->usage_data;
    ev->message = ev->message_data;
    return true;
}

void qr_events_update(struct quire_engine *e, struct qr_request *r)
{
    const bool ready = has_event(r) && !r->event_callback; /* the list is for polling */
    if (ready == r->ready)
        return;
    r->ready = ready;
    struct qr_request *before = r->previous_ready, *after = r->next_ready;
    if (ready) {
        r->ready_number = ++e->n_ready;
        before = e->last_ready;
        after = NULL;
    }
    *(before ? &before->next_ready : &e->first_ready) = ready ? r : after;
    *(after ? &after->previous_ready : &e->last_ready) = ready ? r : before;
    r->previous_ready = ready ? before : NULL;
    r->next_ready = ready ? after : NULL;
}

/* The answer whose event has been due longest, of one request or (id 0) of any; NULL if none has an
 * event. */
static struct qr_request *find_event(struct quire_engine *e, quire_request_id id)
{
    if (id == 0 || e->n_requests == 0)
        return e->first_ready;
    struct qr_request *leader = &e->requests[id % e->n_requests], *first = NULL;
    if (leader->id != id || leader->n_unpolled == 0)
        return NULL;
    for (struct qr_request *r = leader; r; r = r->next)
        if (r->ready && (!first || r->ready_number < first->ready_number))
            first = r;
    return first;
}

/* Copies the event to the caller's struct and lets its pointers refer to memory that lasts: the
 * struct itself, or the engine for a struct without room. */
static void deliver(struct quire_engine *e, struct quire_event *to, struct quire_event *ev)
{
    const bool has_room = to->struct_size >= QR_SIZE_TO(struct quire_event, message_data);
    if (!has_room) {
        pthread_mutex_lock(&e->lock);
        e->last_usage = ev->usage_data;
        memcpy(e->last_error.msg, ev->message_data, sizeof ev->message_data);
        pthread_mutex_unlock(&e->lock);
    }
    if (ev->kind != QUIRE_EVENT_NONE)
        ev->usage = has_room ? &to->usage_data : &e->last_usage;
    if (ev->message_data[0])
        ev->message = has_room ? to->message_data : e->last_error.msg;
    qr_struct_write(to, ev, sizeof *ev);
}

/* Takes the next event; kind NONE if there is none. The caller holds the lock, which is released
 * while an ended answer is freed. */
static void take_event(struct quire_engine *e, quire_request_id id, struct quire_event *ev)
{
    *ev = (struct quire_event){ .text = "", .message = "" };
    struct qr_request *r = find_event(e, id);
    if (!r)
        return;
    next_event(r, ev);
    if (ev->kind == QUIRE_EVENT_DONE)
        r->state = QR_REQUEST_POLLED;
    qr_events_update(e, r); /* it keeps its turn if it has more */
    if (ev->kind != QUIRE_EVENT_DONE)
        return;
    pthread_mutex_unlock(&e->lock);
    qr_request_release(e, r);
    pthread_mutex_lock(&e->lock);
}

static void clear_event_fd(struct quire_engine *e)
{
#ifdef __linux__
    uint64_t count;
    if (e->event_fd_set)
        (void)!read(e->event_fd, &count, sizeof count);
#endif
    e->event_fd_set = false;
}

void qr_events_signal(struct quire_engine *e)
{
    pthread_cond_broadcast(&e->events_changed);
#ifdef __linux__
    const uint64_t one = 1;
    if (e->event_fd >= 0 && !e->event_fd_set)
        e->event_fd_set = write(e->event_fd, &one, sizeof one) == sizeof one;
#endif
}

/* ---- Polling and waiting */

static quire_status check_event(const struct quire_engine *engine, const struct quire_event *event,
                                struct quire_error *err)
{
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(qr_engine_check_callback(engine, err));
    if (!event)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "event is NULL");
    return qr_struct_check_out(event, QR_SIZE_TO(struct quire_event, usage), "event", err);
}

quire_status quire_engine_poll(struct quire_engine *engine, struct quire_event *event,
                               struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(check_event(engine, event, err));
    struct quire_event ev;
    pthread_mutex_lock(&engine->lock);
    take_event(engine, 0, &ev);
    if (ev.kind == QUIRE_EVENT_NONE)
        clear_event_fd(engine);
    pthread_mutex_unlock(&engine->lock);
    deliver(engine, event, &ev);
    return QUIRE_OK;
}

/* Whether an event may still come. The caller holds the lock. */
static bool may_come(const struct quire_engine *e, quire_request_id id)
{
    if (id == 0 || e->n_requests == 0)
        return e->n_active > 0;
    const struct qr_request *leader = &e->requests[id % e->n_requests];
    if (e->callback_id == id)
        return true;
    return leader->id == id && __atomic_load_n(&leader->tag, __ATOMIC_RELAXED) != 0;
}

/* Sleeps until something changes, at most until `until`. The caller holds the lock. */
static void sleep_until(struct quire_engine *e, double until)
{
    if (isinf(until)) {
        pthread_cond_wait(&e->events_changed, &e->lock);
        return;
    }
    const struct timespec t = { .tv_sec = (time_t)until,
                                .tv_nsec = (long)((until - floor(until)) * 1e9) };
    (void)pthread_cond_timedwait(&e->events_changed, &e->lock, &t);
}

quire_status quire_engine_wait(struct quire_engine *engine, quire_request_id id, double seconds,
                               struct quire_event *event, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(check_event(engine, event, err));
    if (isnan(seconds))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "seconds is NaN");
    const double now = qr_clock_now(),
                 until = seconds < 0 || seconds > 1e9 ? INFINITY : now + seconds;
    quire_status status = QUIRE_OK;
    struct quire_event ev;
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        take_event(engine, id, &ev);
        if (ev.kind != QUIRE_EVENT_NONE || !may_come(engine, id) || qr_clock_now() >= until)
            break;
        if (engine->thread_started || qr_engine_is_stepping(engine)) {
            sleep_until(engine, until);
            continue;
        }
        pthread_mutex_unlock(&engine->lock);
        bool taken;
        status = qr_engine_try_step(engine, &taken, err);
        pthread_mutex_lock(&engine->lock);
        if (status != QUIRE_OK)
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    deliver(engine, event, &ev);
    return status;
}

quire_status quire_engine_event_fd(struct quire_engine *engine, int *fd, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_engine_check_process(engine, err));
    if (!fd)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "fd is NULL");
    *fd = -1;
#ifdef __linux__
    quire_status status = QUIRE_OK;
    pthread_mutex_lock(&engine->lock);
    if (engine->event_fd < 0) {
        engine->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (engine->event_fd < 0)
            status = qr_fail_errno(err, QUIRE_E_IO, errno, "no event descriptor");
        else
            qr_events_signal(engine); /* events may be due already */
    }
    *fd = engine->event_fd;
    pthread_mutex_unlock(&engine->lock);
    return status;
#else
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "event descriptors need Linux");
#endif
}
