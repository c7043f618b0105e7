/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - GET /health, /ready, /version and /slots: what the server is doing. */
#include "state.h"
#include "exchange.h"
#include "generation.h"
#include "model_list.h"
#include "registry.h"
#include "server.h"

void health_route(struct exchange *x)
{
    exchange_reply_json(x, 200, json_pack("{s:s}", "status", "ok"));
}

void version_route(struct exchange *x)
{
    exchange_reply_json(x, 200, json_pack("{s:s}", "version", quire_version()));
}

/* The first model is opened at the start. It has been open once its sizes are known; it may have
 * been closed for another model since then. */
void ready_route(struct exchange *x)
{
    const struct model *first = registry_model(x->server->registry, 0);
    const char *status = "ready", *reason = NULL;
    if (x->server->draining) {
        status = "draining";
        reason = "the server is shutting down";
    } else if (first == NULL || first->info.context_length == 0) {
        status = "loading";
        reason = "the first model is being opened";
    }
    exchange_reply_json(x, reason != NULL ? 503 : 200,
                        json_pack("{s:s, s:s*}", "status", status, "reason", reason));
}

/* ---- /slots ---- */

static const char *state_name(enum model_state state)
{
    switch (state) {
    case MODEL_OPENING:
        return "opening";
    case MODEL_OPEN:
        return "open";
    case MODEL_CLOSING:
        return "closing";
    default:
        return "closed";
    }
}

static json_t *engine_json(const struct model *m)
{
    struct quire_engine_stats s;
    quire_engine_stats_init(&s, sizeof s);
    if (m->state != MODEL_OPEN || quire_engine_get_stats(m->engine, &s) != QUIRE_OK)
        return json_null();
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:{s:i, s:i, s:i}, s:{s:I, s:I}, s:I, s:I}", "running",
        (int)s.n_running, "waiting", (int)s.n_waiting, "max_sequences", (int)m->info.max_seqs,
        "context_length", (int)m->info.context_length, "kv_blocks", "total", (int)s.n_blocks,
        "used", (int)s.n_used_blocks, "cached", (int)s.n_cached_blocks, "prompt_tokens", "computed",
        (json_int_t)s.prompt_tokens, "cached", (json_int_t)s.cached_tokens, "completion_tokens",
        (json_int_t)s.completion_tokens, "preemptions", (json_int_t)s.n_preemptions);
}

/* Where a generation is: before its first token, after it, or not yet in the engine. */
static const char *phase(const struct generation *g, uint64_t prompt_done)
{
    if (g->first_token > 0)
        return "generating";
    return prompt_done > 0 ? "prompt" : "waiting";
}

static json_t *generation_json(const struct generation *g)
{
    const struct generation_usage usage = generation_usage(g);
    const uint32_t n = g->answers != NULL ? g->n_requests * g->choices : 0;
    uint64_t prompt_done = 0, n_ended = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i % g->choices == 0)
            prompt_done += g->answers[i].usage.prompt_done;
        n_ended += g->answers[i].done;
    }
    return json_pack("{s:I, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "id", (json_int_t)g->id,
                     "phase", phase(g, prompt_done), "seconds",
                     loop_now(g->server->loop) - g->started, "answers", (json_int_t)n,
                     "answers_ended", (json_int_t)n_ended, "prompt_tokens",
                     (json_int_t)usage.prompt_tokens, "prompt_tokens_done", (json_int_t)prompt_done,
                     "cached_tokens", (json_int_t)usage.cached_tokens, "completion_tokens",
                     (json_int_t)usage.completion_tokens);
}

static json_t *model_json(const struct server *s, const struct model *m)
{
    json_t *generations = json_array();
    for (const struct generation *g = s->generations; g != NULL; g = g->next)
        if (g->model == m && json_array_append_new(generations, generation_json(g)) != 0) {
            json_decref(generations);
            return NULL;
        }
    return json_pack("{s:s, s:s, s:o, s:o}", "model", m->name, "state", state_name(m->state),
                     "engine", engine_json(m), "generations", generations);
}

void slots_route(struct exchange *x)
{
    const struct server *s = x->server;
    const struct model *m;
    json_t *models = json_array();
    for (unsigned i = 0; (m = registry_model(s->registry, i)) != NULL; i++)
        if (json_array_append_new(models, model_json(s, m)) != 0) {
            json_decref(models);
            models = NULL;
            break;
        }
    exchange_reply_json(
        x, 200, models ? json_pack("{s:b, s:o}", "draining", s->draining, "models", models) : NULL);
}
