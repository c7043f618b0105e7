/* SPDX-License-Identifier: Apache-2.0 */
#include "generation.h"
#include "adapter_list.h"
#include "generation_run.h"
#include "keys.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "model_list.h"
#include "router.h"
#include "sampling_fields.h"
#include "server.h"
#include "trace.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Requests of one generation in the engine at a time, for routes with many inputs; in a short
     * queue half of it: a client cannot fill the queue with one call. */
    MAX_IN_FLIGHT = 32,
    /* Prompts of fewer bytes are tokenized on the event loop, in well below a millisecond. */
    INLINE_BYTES = 8192,
};
#define KEEP_ALIVE_SECONDS 10.0

struct block {
    struct block *next;
    max_align_t data[];
};

static void free_generation(struct generation *g)
{
    struct generation_run *run = g->run;
    if (g->format->destroy != NULL)
        g->format->destroy(g);
    for (uint32_t i = 0; g->answers != NULL && i < g->n_requests * g->choices; i++)
        answer_free(&g->answers[i]);
    for (struct block *b = run->blocks; b != NULL;) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
    json_decref(g->body);
    json_decref(g->tools);
    free(g->answers);
    free(g->requests);
    free(run->items);
    free(run);
    free(g);
}

struct generation *generation_create(struct exchange *x, const struct generation_format *format,
                                     json_t *body, uint32_t n_requests, struct api_error *error)
{
    struct generation *g = calloc(1, sizeof *g);
    struct generation_run *run = calloc(1, sizeof *run);
    struct quire_request_params *requests = calloc(n_requests, sizeof *requests);
    struct item *items = calloc(n_requests, sizeof *items);
    if (g == NULL || run == NULL || requests == NULL || items == NULL) {
        free(g);
        free(run);
        free(requests);
        free(items);
        json_decref(body);
        api_fail(error, 500, NULL, NULL, "out of memory");
        return NULL;
    }
    *g = (struct generation){ .exchange = x,
                              .format = format,
                              .body = body,
                              .requests = requests,
                              .n_requests = n_requests,
                              .server = x->server,
                              .id = ++x->server->n_generations,
                              .run = run };
    g->started = x->received;
    run->items = items;
    for (uint32_t i = 0; i < n_requests; i++) {
        quire_request_params_init(&requests[i], sizeof requests[i]);
        items[i] = (struct item){ .g = g, .index = i };
    }
    return g;
}

bool generation_find_model(struct generation *g, const char *name, struct api_error *error)
{
    struct registry *r = g->server->registry;
    const struct adapter_entry *a = adapter_list_find(r, name);
    g->model = registry_find(r, a ? NULL : name, error);
    if (a == NULL || g->model == NULL)
        return g->model != NULL;
    const size_t size = strlen(a->name) + 1;
    char *copy = generation_alloc(g, size); /* the list may change */
    if (copy == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    g->adapter = memcpy(copy, a->name, size);
    return true;
}

const char *generation_model_name(const struct generation *g)
{
    return g->adapter ? g->adapter : g->model->name;
}

void *generation_alloc(struct generation *g, size_t size)
{
    struct block *b = size < SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + size) : NULL;
    if (b == NULL)
        return NULL;
    b->next = g->run->blocks;
    g->run->blocks = b;
    return b->data;
}

struct generation_usage generation_usage(const struct generation *g)
{
    struct generation_usage sum = { 0 };
    for (uint32_t i = 0; g->answers != NULL && i < g->n_requests; i++) {
        const struct answer *answers = &g->answers[i * g->choices];
        uint32_t cached =
            UINT32_MAX; /* all but the first answer find the whole prompt in the cache */
        for (uint32_t k = 0; k < g->choices; k++) {
            const struct quire_usage *u = &answers[k].usage;
            cached = u->cached_tokens < cached ? u->cached_tokens : cached;
            sum.completion_tokens += u->completion_tokens;
        }
        sum.prompt_tokens += answers[0].usage.prompt_tokens;
        sum.cached_tokens += cached;
    }
    return sum;
}

/* ---- End ---- */

static void log_generation(const struct generation *g)
{
    static const char *const no_reason = "failed";
    const struct generation_usage u = generation_usage(g);
    const struct answer *a = g->answers;
    const double now = loop_now(g->server->loop);
    const struct log_field fields[] = {
        { "generation", NULL, (double)g->id },
        { "model", g->model ? g->model->name : "", 0 },
        { "prompt_tokens", NULL, (double)u.prompt_tokens },
        { "cached_tokens", NULL, (double)u.cached_tokens },
        { "completion_tokens", NULL, (double)u.completion_tokens },
        { "ttft_seconds", NULL, g->first_token > 0 ? g->first_token - g->started : 0 },
        { "seconds", NULL, now - g->started },
        { "reason", a && a->done ? quire_finish_reason_name(a->reason) : no_reason, 0 },
    };
    log_line(g->server->log, QUIRE_LOG_INFO, "request finished", fields,
             sizeof fields / sizeof fields[0]);
}

void generation_release(struct generation *g)
{
    struct generation_run *run = g->run;
    if (!run->finished || run->submitting || run->n_ended < run->n_submitted)
        return;
    if (run->waiting)
        model_forget(g->model, &run->waiter);
    if (run->has_model && g->format->work == NULL) {
        metrics_generation(g->server->metrics, g);
        log_generation(g);
    }
    if (run->has_model)
        model_release(g->server->registry, g->model);
    if (run->has_key) {
        const struct generation_usage u = generation_usage(g);
        keys_end(g->key, loop_now(g->server->loop), u.prompt_tokens + u.completion_tokens);
    }
    trace_generation(g->server->trace, g);
    if (run->listed) {
        *(g->previous ? &g->previous->next : &g->server->generations) = g->next;
        if (g->next != NULL)
            g->next->previous = g->previous;
    }
    free_generation(g);
}

/* While the job submits, it is too early: submitted() cancels. */
static void cancel(struct generation *g)
{
    struct generation_run *run = g->run;
    if (run->submitting)
        return;
    for (uint32_t i = 0; i < run->n_submitted; i++)
        if (!run->items[i].ended && run->items[i].id != 0)
            (void)quire_request_cancel(g->model->engine, run->items[i].id);
}

void generation_close(struct generation *g)
{
    g->exchange = NULL;
    g->run->finished = true;
    loop_timer_clear(g->server->loop, &g->run->keep_alive);
    cancel(g);
    generation_release(g);
}

static void client_gone(void *user)
{
    struct generation *g = user;
    generation_close(g);
}

void generation_fail(struct generation *g, const struct api_error *error)
{
    struct exchange *x = g->exchange;
    if (x != NULL && exchange_is_streaming(x)) {
        g->format->stream_error(g, error);
        exchange_end(x);
    } else if (x != NULL) {
        exchange_reply_error(x, error);
    }
    generation_close(g);
}

void generation_cancel_all(struct server *server)
{
    for (struct generation *g = server->generations; g != NULL; g = g->next)
        if (g->run->has_model)
            cancel(g);
}

/* ---- Submission ---- */

bool generation_engine_error(const struct generation *g, uint32_t index, quire_status status,
                             const struct quire_error *err, struct api_error *error)
{
    api_fail_status(error, status, err);
    const size_t n = strspn(error->message, "abcdefghijklmnopqrstuvwxyz_");
    char name[64] = "";
    if (error->status != 400 || error->param[0] != '\0')
        return false;
    if (n < sizeof name)
        memcpy(name, error->message, n);
    if (strcmp(name, "grammar_text") == 0 && g->grammar_param != NULL)
        snprintf(error->param, sizeof error->param, "%s", g->grammar_param);
    else if (status == QUIRE_E_UNSUPPORTED)
        snprintf(error->param, sizeof error->param, "model");
    else if (json_object_get(g->body, name) != NULL)
        snprintf(error->param, sizeof error->param, "%s", name);
    else if (g->format->input != NULL && g->n_requests > 1)
        snprintf(error->param, sizeof error->param, "%s[%u]", g->format->input, (unsigned)index);
    else if (g->format->input != NULL)
        snprintf(error->param, sizeof error->param, "%s", g->format->input);
    return false;
}

/* Tokens to draft per step, where the engine drafts and the request can use it. */
static uint32_t draft_tokens(const struct generation *g, const struct quire_request_params *p)
{
    const uint32_t most = g->model->info.max_draft_tokens, given = g->server->options.draft_max;
    if (p->task != QUIRE_TASK_GENERATE || p->beam_width)
        return 0;
    return given < most ? given : most;
}

/* Runs on the event loop, or on a thread while run->submitting. */
static void submit(void *user)
{
    struct generation *g = user;
    struct generation_run *run = g->run;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (run->n_submitted == 0 && !output_choice_apply(g, &run->error))
        return;
    for (uint32_t i = run->n_submitted; i < run->job_end; i++) {
        g->requests[i].draft_tokens = draft_tokens(g, &g->requests[i]);
        const quire_status s =
            quire_engine_submit(g->model->engine, &g->requests[i], &run->items[i].id, &err);
        if (s != QUIRE_OK) {
            generation_engine_error(g, i, s, &err, &run->error);
            return;
        }
        run->n_submitted = i + 1;
    }
}

static void keep_alive(void *user)
{
    struct generation *g = user;
    const double now = loop_now(g->server->loop);
    if (exchange_is_streaming(g->exchange) && now - g->last_write >= KEEP_ALIVE_SECONDS - 0.5) {
        exchange_write(g->exchange, ": keep-alive\n\n", 14);
        g->last_write = now;
    }
    loop_timer_set(g->server->loop, &g->run->keep_alive, KEEP_ALIVE_SECONDS, keep_alive, g);
}

void generation_begin_answer(struct generation *g)
{
    struct generation_run *run = g->run;
    if (run->begun)
        return;
    run->begun = true;
    if (g->format->started != NULL)
        g->format->started(g);
    g->last_write = loop_now(g->server->loop);
    if (g->flags & KEEP_ALIVE)
        keep_alive(g);
}

static void submitted(void *user)
{
    struct generation *g = user;
    struct generation_run *run = g->run;
    run->submitting = false;
    g->model->n_answers -= (run->job_end - run->n_submitted) * run->answers_per_request;
    if (run->finished) {
        cancel(g);
        generation_release(g);
    } else if (run->error.status != 0) {
        generation_fail(g, &run->error);
    } else {
        generation_begin_answer(g);
        generation_submit_more(g);
    }
}

void generation_submit_more(struct generation *g)
{
    struct generation_run *run = g->run;
    if (run->submitting) /* n_submitted is the job's */
        return;
    uint32_t end = run->n_ended + run->max_in_flight;
    end = end < g->n_requests ? end : g->n_requests;
    if (end == run->n_submitted)
        return;
    run->job_end = end;
    run->submitting = true;
    g->model->n_answers += (end - run->n_submitted) * run->answers_per_request;
    if (g->exchange->body_size < INLINE_BYTES) {
        submit(g);
        submitted(g);
        return;
    }
    run->job = (struct loop_job){ .work = submit, .done = submitted, .user = g };
    loop_offload(g->server->loop, LANE_REQUESTS, &run->job);
}

/* Whether the queue has room for the first requests; otherwise an error with an estimate of the
 * time after which it has: the mean time of an answer, for each that is wanted. */
static bool admit(struct generation *g, struct api_error *error)
{
    const struct model *m = g->model;
    const struct options *o = &g->server->options;
    const uint32_t answers = g->run->answers_per_request;
    if (answers > o->max_queue)
        return api_fail(error, 400, NULL, "n", "%u answers exceed the queue of %u (--max-queue).",
                        (unsigned)answers, (unsigned)o->max_queue);
    const uint32_t half = o->max_queue / 2 / answers,
                   n = half < MAX_IN_FLIGHT ? half : MAX_IN_FLIGHT;
    g->run->max_in_flight = n > 0 ? n : 1;
    const uint32_t wanted =
        answers * (g->n_requests < g->run->max_in_flight ? g->n_requests : g->run->max_in_flight);
    if (m->n_answers + wanted <= o->max_queue)
        return true;
    const double running = m->info.max_seqs > 0 ? m->info.max_seqs : 1;
    api_fail(error, 429, "queue_full", NULL, "The queue of the model is full (%u answers).",
             (unsigned)m->n_answers);
    error->retry_after = fmax(1, ceil((double)wanted * m->answer_seconds / running));
    metrics_refused(g->server->metrics, "queue");
    return false;
}

static bool prepare(struct generation *g, struct api_error *error)
{
    struct generation_run *run = g->run;
    const struct quire_request_params *first = &g->requests[0];
    g->choices = first->n ? first->n : 1;
    run->answers_per_request = g->choices;
    if (first->best_of > run->answers_per_request)
        run->answers_per_request = first->best_of;
    if (first->beam_width > run->answers_per_request)
        run->answers_per_request = first->beam_width;
    if (!sampling_fields_apply(g, error) || !admit(g, error))
        return false;
    g->answers = calloc((size_t)g->n_requests * g->choices, sizeof *g->answers);
    if (g->answers == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    for (uint32_t i = 0; i < g->n_requests; i++) {
        struct quire_request_params *r = &g->requests[i];
        r->user = &run->items[i];
        r->client = g->key->client;
        r->cache_salt = g->key->cache_salt;
        r->adapter_name = g->adapter;
        r->deadline = g->server->options.request_timeout;
    }
    return true;
}

static void work(void *user)
{
    struct generation *g = user;
    (void)g->format->work(g, &g->run->error);
}

static void worked(void *user)
{
    struct generation *g = user;
    struct generation_run *run = g->run;
    run->submitting = false;
    if (run->finished) {
        generation_release(g);
    } else if (run->error.status != 0) {
        generation_fail(g, &run->error);
    } else {
        g->format->finish(g);
        generation_close(g);
    }
}

static void start_work(struct generation *g)
{
    g->run->submitting = true;
    g->run->job = (struct loop_job){ .work = work, .done = worked, .user = g };
    loop_offload(g->server->loop, LANE_REQUESTS, &g->run->job);
}

static void model_ready(void *user, const struct api_error *model_error)
{
    struct generation *g = user;
    struct generation_run *run = g->run;
    struct api_error error = { 0 };
    run->waiting = false;
    run->has_model = model_error == NULL;
    if (model_error != NULL) {
        generation_fail(g, model_error);
        return;
    }
    if (g->format->work != NULL) {
        start_work(g);
        return;
    }
    if (!prepare(g, &error)) {
        generation_fail(g, &error);
        return;
    }
    generation_submit_more(g);
}

void generation_start(struct generation *g)
{
    struct generation_run *run = g->run;
    struct server *s = g->server;
    struct api_error error = { 0 };
    g->exchange->aborted = client_gone;
    g->exchange->user = g;
    g->key = g->exchange->key;
    trace_begin(s->trace, &g->span, g->exchange);
    g->next = s->generations;
    if (g->next != NULL)
        g->next->previous = g;
    s->generations = g;
    run->listed = true;
    run->has_key = (g->exchange->route->flags & ROUTE_COMPUTE) != 0;
    if (run->has_key && !keys_begin(g->key, loop_now(s->loop), &error)) {
        metrics_refused(s->metrics, "key");
        run->has_key = false;
        generation_fail(g, &error);
        return;
    }
    run->waiting = true;
    run->waiter = (struct model_waiter){ .ready = model_ready, .user = g };
    model_acquire(s->registry, g->model, &run->waiter);
}
