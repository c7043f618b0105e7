/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - OpenTelemetry spans by OTLP/HTTP. */
#include "trace.h"
#include "collector_url.h"
#include "exchange.h"
#include "generation.h"
#include "log.h"
#include "router.h"
#include "server.h"
#include "trace_sender.h"
#include "traceparent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { CLOSE_MS = 3000, MAX_REASONS = 16, SPAN_KIND_SERVER = 2, STATUS_ERROR = 2 };

struct trace {
    struct trace_sender sender;
    struct collector_url url;
    char *prefix; /* of the body of a request: everything before the spans */
    struct log *log;
    struct trace_counts counts;
    bool failing; /* the last batch was not sent */
};

static const char suffix[] = "]}]}]}";

/* The resource and the scope, which are the same for all spans. */
static char *make_prefix(void)
{
    char *text = NULL;
    const int n = asprintf(
        &text,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
        "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"quire-server\"}},"
        "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"%s\"}}]},"
        "\"scopeSpans\":[{\"scope\":{\"name\":\"quire-server\",\"version\":\"%s\"},\"spans\":[",
        quire_version(), quire_version());
    return n < 0 ? NULL : text;
}

struct trace *trace_open(const char *url, bool sandbox, struct log *log, struct api_error *error)
{
    struct trace *t = calloc(1, sizeof *t);
    char *prefix = make_prefix();
    if (t == NULL || prefix == NULL) {
        api_fail(error, 500, NULL, NULL, "out of memory");
    } else {
        t->log = log;
        t->prefix = prefix;
        if (collector_url_parse(&t->url, url, error) &&
            trace_sender_start(&t->sender, &t->url, prefix, suffix, sandbox, error))
            return t;
    }
    free(prefix);
    free(t);
    return NULL;
}

/* ---- Reports of the sender ---- */

static void count_report(struct trace *t, const struct trace_report *r)
{
    const struct log_field field = { "error", r->error, 0 };
    t->counts.sent += r->sent;
    t->counts.failed += r->failed;
    const bool failing = r->failed > 0;
    if (failing && !t->failing)
        log_line(t->log, QUIRE_LOG_WARN, "traces are not received by the collector", &field, 1);
    else if (!failing && t->failing)
        log_line(t->log, QUIRE_LOG_INFO, "traces are received again", NULL, 0);
    t->failing = failing;
}

struct trace_counts trace_counts(struct trace *t)
{
    struct trace_report r;
    while (trace_sender_report(&t->sender, &r, 0))
        count_report(t, &r);
    return t->counts;
}

void trace_close(struct trace *t)
{
    struct trace_report r;
    if (t == NULL)
        return;
    trace_sender_finish(&t->sender);
    while (trace_sender_report(&t->sender, &r, CLOSE_MS))
        count_report(t, &r);
    trace_sender_close(&t->sender);
    free(t->prefix);
    free(t);
}

/* ---- Spans ---- */

void trace_begin(struct trace *t, struct trace_span *span, const struct exchange *x)
{
    struct traceparent parent;
    struct timespec now;
    *span = (struct trace_span){ .recorded = false };
    if (t == NULL || getrandom(span->id, sizeof span->id, GRND_NONBLOCK) != sizeof span->id)
        return;
    if (traceparent_parse(&parent, exchange_header(x, "traceparent"))) {
        memcpy(span->trace_id, parent.trace_id, sizeof span->trace_id);
        memcpy(span->parent_id, parent.parent_id, sizeof span->parent_id);
        span->recorded = parent.sampled;
    } else {
        span->recorded = getrandom(span->trace_id, sizeof span->trace_id, GRND_NONBLOCK) ==
                         sizeof span->trace_id;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    const double waited = loop_now(x->server->loop) - x->received;
    span->start = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)(waited * 1e9);
    span->route = x->route->path;
}

/* Names of the semantic conventions; other routes have names of their own. */
static const char *operation(const char *route)
{
    if (strstr(route, "embed") != NULL)
        return "embeddings";
    if (strstr(route, "rerank") != NULL)
        return "rerank";
    if (strstr(route, "score") != NULL)
        return "score";
    if (strcmp(route, "/v1/completions") == 0 || strcmp(route, "/api/generate") == 0)
        return "text_completion";
    return "chat";
}

static json_t *hex(const uint8_t *bytes, int n)
{
    char text[33];
    for (int i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

/* 64-bit integers are strings in the JSON of OTLP. */
static json_t *integer(int64_t value) { return json_sprintf("%lld", (long long)value); }

static void add(json_t *attributes, const char *key, json_t *value)
{
    json_array_append_new(attributes, json_pack("{s:s, s:o}", "key", key, "value", value));
}

static void add_text(json_t *attributes, const char *key, const char *value)
{
    add(attributes, key, json_pack("{s:s}", "stringValue", value));
}

static void add_integer(json_t *attributes, const char *key, uint64_t value)
{
    add(attributes, key, json_pack("{s:o}", "intValue", integer((int64_t)value)));
}

static void add_number(json_t *attributes, const char *key, double value)
{
    add(attributes, key, json_pack("{s:f}", "doubleValue", value));
}

static uint32_t n_answers(const struct generation *g)
{
    return g->answers != NULL ? g->n_requests * g->choices : 0;
}

/* What went wrong, as a value of error.type; NULL: nothing. */
static const char *error_type(const struct generation *g)
{
    if (n_answers(g) == 0)
        return "rejected";
    for (uint32_t i = 0; i < n_answers(g); i++) {
        const struct answer *a = &g->answers[i];
        if (!a->done)
            return "rejected";
        if (a->reason != QUIRE_FINISH_STOP && a->reason != QUIRE_FINISH_LENGTH)
            return quire_finish_reason_name(a->reason);
    }
    return NULL;
}

static void add_reasons(json_t *attributes, const struct generation *g)
{
    json_t *values = json_array();
    for (uint32_t i = 0; i < n_answers(g) && i < MAX_REASONS; i++)
        if (g->answers[i].done)
            json_array_append_new(
                values,
                json_pack("{s:s}", "stringValue", quire_finish_reason_name(g->answers[i].reason)));
    add(attributes, "gen_ai.response.finish_reasons",
        json_pack("{s:{s:o}}", "arrayValue", "values", values));
}

static json_t *make_attributes(const struct generation *g)
{
    const struct generation_usage usage = generation_usage(g);
    const struct quire_request_params *r = &g->requests[0];
    const char *error = error_type(g);
    json_t *a = json_array();
    add_text(a, "gen_ai.operation.name", operation(g->span.route));
    add_text(a, "gen_ai.provider.name", "quire");
    add_text(a, "http.route", g->span.route);
    if (g->model != NULL) {
        add_text(a, "gen_ai.request.model", g->model->name);
        add_text(a, "gen_ai.response.model", g->model->name);
    }
    if (r->max_tokens != 0)
        add_integer(a, "gen_ai.request.max_tokens", r->max_tokens);
    if (g->choices > 1)
        add_integer(a, "gen_ai.request.choice.count", g->choices);
    add_integer(a, "gen_ai.usage.input_tokens", usage.prompt_tokens);
    add_integer(a, "gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
    add_integer(a, "gen_ai.usage.output_tokens", usage.completion_tokens);
    add_reasons(a, g);
    add_integer(a, "quire.generation", g->id);
    if (g->first_token > 0)
        add_number(a, "quire.time_to_first_token", g->first_token - g->started);
    if (error != NULL)
        add_text(a, "error.type", error);
    return a;
}

static json_t *make_span(const struct generation *g)
{
    static const uint8_t none[8];
    const struct trace_span *s = &g->span;
    const double seconds = loop_now(g->server->loop) - g->started;
    json_t *parent = memcmp(s->parent_id, none, sizeof none) == 0 ? NULL : hex(s->parent_id, 8);
    return json_pack("{s:o, s:o, s:o*, s:o, s:i, s:o, s:o, s:o, s:o*}", "traceId",
                     hex(s->trace_id, 16), "spanId", hex(s->id, 8), "parentSpanId", parent, "name",
                     json_sprintf("%s %s", operation(s->route), g->model ? g->model->name : ""),
                     "kind", SPAN_KIND_SERVER, "startTimeUnixNano", integer(s->start),
                     "endTimeUnixNano", integer(s->start + (int64_t)(seconds * 1e9)), "attributes",
                     make_attributes(g), "status",
                     error_type(g) ? json_pack("{s:i}", "code", STATUS_ERROR) : NULL);
}

void trace_generation(struct trace *t, const struct generation *g)
{
    if (t == NULL || !g->span.recorded)
        return;
    json_t *span = make_span(g);
    char text[MAX_SPAN_BYTES];
    const size_t n = json_dumpb(span, text, sizeof text, JSON_COMPACT); /* 0: no memory */
    if (n == 0 || n > sizeof text || !trace_sender_put(&t->sender, text, n))
        if (t->counts.dropped++ == 0)
            log_line(t->log, QUIRE_LOG_WARN, "traces are dropped", NULL, 0);
    json_decref(span);
    trace_counts(t);
}
