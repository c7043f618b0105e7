/* SPDX-License-Identifier: Apache-2.0 */
#include "generation_events.h"
#include "generation_run.h"
#include "loop.h"
#include "metrics.h"
#include "server.h"
#include <stdio.h>

/* Events of a turn; then other descriptors are served, and the engine's stays readable. */
enum { MAX_EVENTS_PER_TURN = 512 };

static void update_times(struct generation *g)
{
    struct metrics *metrics = g->server->metrics;
    const double now = loop_now(g->server->loop);
    if (g->first_token == 0) {
        g->first_token = now;
        metrics_first_token(metrics, g->model, now - g->started);
    } else if (g->n_requests * g->choices == 1) {
        metrics_inter_token(metrics, g->model, now - g->last_token);
    }
    g->last_token = now;
}

/* All answers of a request have ended. */
static void request_ended(struct item *item)
{
    struct generation *g = item->g;
    struct model *m = g->model;
    const double seconds = loop_now(g->server->loop) - g->started;
    item->ended = true;
    g->run->n_ended++;
    m->n_answers -= g->run->answers_per_request;
    m->answer_seconds = m->answer_seconds == 0 ? seconds : 0.9 * m->answer_seconds + 0.1 * seconds;
}

/* What went wrong with an answer; status 0: nothing. */
static struct api_error event_error(const struct generation *g, const struct answer *a,
                                    const struct quire_event *ev)
{
    struct api_error e = { 0 };
    if (ev->kind == QUIRE_EVENT_DONE && ev->reason == QUIRE_FINISH_ERROR) {
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(err.msg, sizeof err.msg, "%s", ev->message);
        api_fail_status(&e, ev->status, &err);
    } else if (ev->kind == QUIRE_EVENT_DONE && ev->reason == QUIRE_FINISH_CANCELLED) {
        api_fail(&e, 503, "cancelled", NULL, "The server is shutting down.");
    } else if (ev->kind == QUIRE_EVENT_DONE && ev->reason == QUIRE_FINISH_DEADLINE) {
        api_fail(&e, 504, "timeout", NULL, "The answer took more than %g seconds.",
                 g->server->options.request_timeout);
    } else if (a->failed) {
        api_fail(&e, 500, NULL, NULL, "out of memory");
    }
    return e;
}

static void handle_event(const struct quire_event *ev)
{
    struct item *item = ev->user;
    struct generation *g = item->g;
    struct generation_run *run = g->run;
    struct answer *a = &g->answers[item->index * g->choices + ev->choice];
    if (ev->kind == QUIRE_EVENT_TEXT)
        update_times(g);
    answer_update(a, ev, (g->flags & KEEP_TEXT) != 0);
    const bool request_done = ev->kind == QUIRE_EVENT_DONE && ++item->n_done == g->choices;
    if (request_done)
        request_ended(item);
    if (run->finished) {
        generation_release(g);
        return;
    }
    generation_begin_answer(g);
    const struct api_error error = event_error(g, a, ev);
    if (error.status != 0) {
        generation_fail(g, &error);
        return;
    }
    if (g->format->event != NULL)
        g->format->event(g, item->index, a, ev);
    if (run->n_ended == g->n_requests) {
        g->format->finish(g);
        generation_close(g);
    } else if (request_done) {
        generation_submit_more(g);
    }
}

void generation_events(struct model *m)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    for (int i = 0; i < MAX_EVENTS_PER_TURN; i++) {
        if (m->engine == NULL || quire_engine_poll(m->engine, &ev, NULL) != QUIRE_OK ||
            ev.kind == QUIRE_EVENT_NONE)
            return;
        handle_event(&ev);
    }
}
