/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - what the caller is told: progress, text, the end. */
#include "base/error.h"
#include "base/struct_size.h"
#include "engine/request.h"

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
    case QUIRE_FINISH_NONE:
        break;
    }
    return "";
}

static struct quire_usage usage_of(const struct qr_request *r)
{
    struct quire_usage u = {
        .prompt_tokens = r->n_prompt,
        .prompt_done = r->n_computed < r->n_prompt ? r->n_computed : r->n_prompt,
        .cached_tokens = r->n_cached,
        .completion_tokens = r->n_chosen,
    };
    if (r->started > 0)
        u.queue_seconds = r->started - r->submitted;
    if (r->first_token > 0) {
        u.prompt_seconds = r->first_token - r->started;
        u.generate_seconds = r->last_token - r->first_token;
    }
    return u;
}

static void give_text(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_TEXT;
    qr_answer_take(&r->answer, &ev->text, &ev->text_size);
    ev->tokens = r->tokens + r->n_polled;
    ev->n_tokens = r->n_tokens - r->n_polled;
    r->n_polled = r->n_tokens;
    r->text_moved = false;
}

static void give_end(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_DONE;
    ev->reason = r->reason;
    ev->context_full = r->context_full;
    if (r->reason == QUIRE_FINISH_ERROR) {
        ev->status = r->error.code;
        ev->message = r->error.msg;
    }
    r->state = QR_REQUEST_DELIVERED;
}

/* The next event of one request; false when there is none. */
static bool next_event(struct qr_request *r, struct quire_event *ev)
{
    if (r->text_moved)
        give_text(r, ev);
    else if (r->state == QR_REQUEST_ENDED)
        give_end(r, ev);
    else if (r->prompt_moved)
        ev->kind = QUIRE_EVENT_PROMPT;
    else
        return false;
    r->prompt_moved = false; /* news that is out of date once something followed */
    ev->id = r->id;
    r->usage = usage_of(r);
    ev->usage = &r->usage;
    return true;
}

quire_status quire_engine_poll(struct quire_engine *engine, struct quire_event *event,
                               struct quire_error *err)
{
    if (!engine || !event)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", engine ? "event" : "engine");
    if (event->struct_size != sizeof *event)
        return qr_fail(err, QUIRE_E_MISUSE, "event.struct_size is %u, this library expects %zu",
                       event->struct_size, sizeof *event);
    QR_TRY(qr_engine_enter(engine, err));
    *event = (struct quire_event){ .struct_size = sizeof *event, .text = "", .message = "" };
    qr_request_reap(engine);
    for (uint32_t i = 0; i < engine->n_requests; i++)
        if (next_event(&engine->requests[i], event))
            break;
    qr_engine_leave(engine);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_event)
