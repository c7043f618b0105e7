/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - the event queue of poll: prefill progress, text, end of a request. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/call_guard.h"
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

/* Time to first token (TTFT) is queue_seconds + prompt_seconds; mean inter-token latency (ITL) is
 * generate_seconds / (completion_tokens - 1). */
static struct quire_usage usage_of(const struct qr_request *r)
{
    struct quire_usage u = {
        .prompt_tokens = r->n_prompt,
        .prompt_done = r->n_computed < r->n_prompt ? r->n_computed : r->n_prompt,
        .cached_tokens = r->n_cached,
        .completion_tokens = r->n_output,
    };
    if (r->start_time > 0)
        u.queue_seconds = r->start_time - r->submit_time;
    if (r->first_token_time > 0) {
        u.prompt_seconds = r->first_token_time - r->start_time;
        u.generate_seconds = r->last_token_time - r->first_token_time;
    }
    return u;
}

static void report_text(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_TEXT;
    qr_output_text_take(&r->output, &ev->text, &ev->text_size);
    ev->tokens = r->tokens + r->n_polled;
    ev->n_tokens = r->n_tokens - r->n_polled;
    r->n_polled = r->n_tokens;
    r->text_event_due = false;
}

static void report_finish(struct qr_request *r, struct quire_event *ev)
{
    ev->kind = QUIRE_EVENT_DONE;
    ev->reason = r->reason;
    ev->context_full = r->context_full;
    if (r->reason == QUIRE_FINISH_ERROR) {
        ev->status = r->error.code;
        ev->message = r->error.msg;
    }
    r->state = QR_REQUEST_REPORTED;
}

/* Fills in the next due event of one request; false when there is none. The queue is state of the
 * request, not a list: unpolled text accumulates into one event. */
static bool next_event(struct qr_request *r, struct quire_event *ev)
{
    if (r->text_event_due)
        report_text(r, ev);
    else if (r->state == QR_REQUEST_FINISHED)
        report_finish(r, ev);
    else if (r->prompt_event_due)
        ev->kind = QUIRE_EVENT_PROMPT;
    else
        return false;
    r->prompt_event_due = false; /* a later event supersedes prefill progress */
    ev->id = r->id;
    r->usage = usage_of(r);
    ev->usage = &r->usage;
    return true;
}

quire_status quire_engine_poll(struct quire_engine *engine, struct quire_event *event,
                               struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (!event)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "event is NULL");
    QR_TRY(qr_struct_check_out(event, QR_SIZE_TO(struct quire_event, usage), "event", err));
    QR_TRY(qr_engine_enter(engine, err));
    struct quire_event ev = { .text = "", .message = "" };
    qr_request_free_reported(engine);
    for (uint32_t i = 0; i < engine->n_requests; i++)
        if (next_event(&engine->requests[i], &ev))
            break;
    qr_struct_write(event, &ev, sizeof ev);
    qr_engine_leave(engine);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_event)
