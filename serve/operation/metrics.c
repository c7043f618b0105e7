/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - counts what the server does; GET /metrics. */
#include "metrics.h"
#include "exchange.h"
#include "generation.h"
#include "metric_set.h"
#include "model_list.h"
#include "process_info.h"
#include "registry.h"
#include "server.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = 64 }; /* series of ignored parameters; more are counted as "other" */

struct metrics {
    struct metric_set set;
    struct process_info process;
};

struct metrics *metrics_create(void)
{
    struct metrics *m = calloc(1, sizeof *m);
    if (m != NULL)
        process_info_open(&m->process);
    return m;
}

void metrics_destroy(struct metrics *m)
{
    if (m == NULL)
        return;
    metric_set_free(&m->set);
    process_info_close(&m->process);
    free(m);
}

static struct metric_labels model_label(const struct model *model)
{
    return metric_labels("model", model->name, NULL, NULL);
}

/* ---- Events ---- */

void metrics_http(struct metrics *m, const char *route, int status, double seconds)
{
    char number[16];
    snprintf(number, sizeof number, "%d", status);
    struct metric_labels labels = metric_labels("route", route, "status", number);
    metric_add(&m->set, METRIC_HTTP_REQUESTS, &labels, 1);
    labels = metric_labels("route", route, NULL, NULL);
    metric_observe(&m->set, METRIC_HTTP_SECONDS, &labels, seconds);
}

void metrics_ignored_parameter(struct metrics *m, const char *name)
{
    struct metric_labels labels = metric_labels("parameter", name, NULL, NULL);
    if (metric_count(&m->set, METRIC_IGNORED) >= MAX_PARAMETERS &&
        !metric_has(&m->set, METRIC_IGNORED, &labels))
        labels = metric_labels("parameter", "other", NULL, NULL);
    metric_add(&m->set, METRIC_IGNORED, &labels, 1);
}

void metrics_refused(struct metrics *m, const char *reason)
{
    const struct metric_labels labels = metric_labels("reason", reason, NULL, NULL);
    metric_add(&m->set, METRIC_REFUSED, &labels, 1);
}

void metrics_inter_token(struct metrics *m, const struct model *model, double seconds)
{
    const struct metric_labels labels = model_label(model);
    metric_observe(&m->set, METRIC_INTER_TOKEN_SECONDS, &labels, seconds);
}

void metrics_first_token(struct metrics *m, const struct model *model, double seconds)
{
    const struct metric_labels labels = model_label(model);
    metric_observe(&m->set, METRIC_FIRST_TOKEN_SECONDS, &labels, seconds);
}

void metrics_generation(struct metrics *m, const struct generation *g)
{
    if (g->model == NULL)
        return;
    const struct metric_labels model = model_label(g->model);
    const struct generation_usage usage = generation_usage(g);
    metric_add(&m->set, METRIC_PROMPT_TOKENS, &model, (double)usage.prompt_tokens);
    metric_add(&m->set, METRIC_CACHED_TOKENS, &model, (double)usage.cached_tokens);
    metric_add(&m->set, METRIC_COMPLETION_TOKENS, &model, (double)usage.completion_tokens);
    metric_observe(&m->set, METRIC_GENERATION_SECONDS, &model,
                   loop_now(g->server->loop) - g->started);
    for (uint32_t i = 0; g->answers != NULL && i < g->n_requests * g->choices; i++) {
        if (!g->answers[i].done)
            continue;
        const struct metric_labels labels =
            metric_labels("model", g->model->name, "finish_reason",
                          quire_finish_reason_name(g->answers[i].reason));
        metric_add(&m->set, METRIC_ANSWERS, &labels, 1);
    }
}

/* ---- State at the time of a scrape ---- */

static void put_drafts(struct metrics *m, const struct model *model, const char *source,
                       uint64_t drafted, uint64_t accepted)
{
    const struct metric_labels labels = metric_labels("model", model->name, "source", source);
    metric_put(&m->set, METRIC_DRAFTED, &labels, (double)drafted);
    metric_put(&m->set, METRIC_ACCEPTED, &labels, (double)accepted);
}

static void put_engine(struct metrics *m, const struct model *model)
{
    struct quire_engine_stats s;
    quire_engine_stats_init(&s, sizeof s);
    if (quire_engine_get_stats(model->engine, &s) != QUIRE_OK)
        return;
    const struct metric_labels label = model_label(model);
    const struct quire_engine_info *info = &model->info;
    const struct {
        enum metric_id id;
        double value;
    } values[] = {
        { METRIC_MODEL_BYTES, (double)(info->weight_bytes + info->kv_bytes + info->context_bytes +
                                       info->draft_weight_bytes + info->draft_kv_bytes +
                                       info->draft_context_bytes + info->tokenizer_bytes) },
        { METRIC_RUNNING, s.n_running },
        { METRIC_WAITING, s.n_waiting },
        { METRIC_STEPS, (double)s.n_steps },
        { METRIC_COMPUTED_TOKENS, (double)s.prompt_tokens },
        { METRIC_SAMPLED_TOKENS, (double)s.completion_tokens },
        { METRIC_PREEMPTIONS, (double)s.n_preemptions },
        { METRIC_KV_BLOCKS, s.n_blocks },
        { METRIC_KV_USED, s.n_used_blocks },
        { METRIC_KV_CACHED, s.n_cached_blocks },
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        metric_put(&m->set, values[i].id, &label, values[i].value);
    put_drafts(m, model, "lookup", s.lookup_drafted_tokens, s.lookup_accepted_tokens);
    put_drafts(m, model, "model", s.model_drafted_tokens, s.model_accepted_tokens);
}

/* Series of models that are closed end: those of METRIC_MODELS_OPEN to METRIC_ACCEPTED. */
static void put_models(struct metrics *m, struct registry *registry)
{
    double n_open = 0;
    const struct model *model;
    for (int id = METRIC_MODELS_OPEN; id <= METRIC_ACCEPTED; id++)
        metric_clear(&m->set, (enum metric_id)id);
    for (unsigned i = 0; (model = registry_model(registry, i)) != NULL; i++) {
        const bool is_open = model->state == MODEL_OPEN;
        const struct metric_labels label = model_label(model);
        metric_put(&m->set, METRIC_MODEL_OPEN, &label, is_open);
        n_open += is_open;
        if (is_open)
            put_engine(m, model);
    }
    metric_put(&m->set, METRIC_MODELS_OPEN, NULL, n_open);
}

static void put_process(struct metrics *m)
{
    const struct metric_labels version = metric_labels("version", quire_version(), NULL, NULL);
    const struct {
        enum metric_id id;
        double value;
    } values[] = {
        { METRIC_START_TIME, m->process.start },
        { METRIC_CPU_SECONDS, process_cpu_seconds() },
        { METRIC_RESIDENT_BYTES, process_resident_bytes(&m->process) },
        { METRIC_OPEN_FDS, process_open_fds(&m->process) },
        { METRIC_MAX_FDS, process_max_fds() },
    };
    metric_put(&m->set, METRIC_BUILD_INFO, &version, 1);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i].value >= 0)
            metric_put(&m->set, values[i].id, NULL, values[i].value);
}

static void put_trace(struct metrics *m, struct trace *trace)
{
    if (trace == NULL)
        return;
    const struct trace_counts counts = trace_counts(trace);
    const struct {
        const char *result;
        uint64_t value;
    } values[] = { { "sent", counts.sent },
                   { "failed", counts.failed },
                   { "dropped", counts.dropped } };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct metric_labels label = metric_labels("result", values[i].result, NULL, NULL);
        metric_put(&m->set, METRIC_SPANS, &label, (double)values[i].value);
    }
}

void metrics_route(struct exchange *x)
{
    struct metrics *m = x->server->metrics;
    struct api_error error = { 0 };
    struct text text = { 0 };
    if (x->server->options.no_metrics) {
        api_fail(&error, 404, NULL, NULL, "metrics are switched off (--no-metrics)");
    } else {
        put_models(m, x->server->registry);
        put_trace(m, x->server->trace);
        put_process(m);
        metric_set_print(&m->set, &text);
        if (text.failed)
            api_fail(&error, 500, NULL, NULL, "out of memory");
    }
    if (error.status != 0)
        exchange_reply_error(x, &error);
    else
        exchange_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.size);
    text_free(&text);
}
