/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_completions.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "router.h"
#include "sampling_fields.h"
#include "server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* State of one answer. */
struct chat {
    char id[48];
    long created; /* Unix time */
    bool stream, include_usage;
    unsigned n_done;
};

static json_t *usage_json(const struct generation *g)
{
    const struct generation_usage u = generation_usage(g);
    return json_pack("{s:I, s:I, s:I, s:{s:I}}", "prompt_tokens", (json_int_t)u.prompt_tokens,
                     "completion_tokens", (json_int_t)u.completion_tokens, "total_tokens",
                     (json_int_t)(u.prompt_tokens + u.completion_tokens), "prompt_tokens_details",
                     "cached_tokens", (json_int_t)u.cached_tokens);
}

/* A chunk with one choice; drops the reference to delta. */
static void write_chunk(struct generation *g, unsigned choice, json_t *delta, const char *reason)
{
    const struct chat *c = g->state;
    json_t *chunk = json_pack("{s:s, s:s, s:I, s:s, s:[{s:i, s:o, s:s?}]}", "id", c->id, "object",
                              "chat.completion.chunk", "created", (json_int_t)c->created, "model",
                              g->model->name, "choices", "index", (int)choice, "delta", delta,
                              "finish_reason", reason);
    exchange_write_event(g->exchange, NULL, chunk);
    g->last_write = g->last_token;
}

static const char *finish_reason(enum quire_finish_reason reason)
{
    return reason == QUIRE_FINISH_LENGTH ? "length" : "stop";
}

static void started(struct generation *g)
{
    const struct chat *c = g->state;
    if (!c->stream)
        return;
    exchange_begin_stream(g->exchange, 200, "text/event-stream; charset=utf-8");
    for (unsigned i = 0; i < g->choices; i++)
        write_chunk(g, i, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    const struct chat *c = g->state;
    (void)index;
    (void)answer;
    if (!c->stream)
        return;
    if (ev->kind == QUIRE_EVENT_TEXT && ev->text_size > 0)
        write_chunk(g, ev->choice, json_pack("{s:s%}", "content", ev->text, ev->text_size), NULL);
    else if (ev->kind == QUIRE_EVENT_DONE)
        write_chunk(g, ev->choice, json_object(), finish_reason(ev->reason));
}

static void finish_stream(struct generation *g)
{
    const struct chat *c = g->state;
    if (c->include_usage)
        exchange_write_event(g->exchange, NULL,
                             json_pack("{s:s, s:s, s:I, s:s, s:[], s:o}", "id", c->id, "object",
                                       "chat.completion.chunk", "created", (json_int_t)c->created,
                                       "model", g->model->name, "choices", "usage", usage_json(g)));
    exchange_write(g->exchange, "data: [DONE]\n\n", 14);
    exchange_end(g->exchange);
}

static void finish(struct generation *g)
{
    const struct chat *c = g->state;
    if (c->stream) {
        finish_stream(g);
        return;
    }
    json_t *choices = json_array();
    for (unsigned i = 0; i < g->choices; i++) {
        const struct answer *a = &g->answers[i];
        json_array_append_new(choices, json_pack("{s:i, s:{s:s, s:s%}, s:s}", "index", (int)i,
                                                 "message", "role", "assistant", "content",
                                                 a->text.data ? a->text.data : "", a->text.size,
                                                 "finish_reason", finish_reason(a->reason)));
    }
    exchange_reply_json(g->exchange, 200,
                        json_pack("{s:s, s:s, s:I, s:s, s:o, s:o}", "id", c->id, "object",
                                  "chat.completion", "created", (json_int_t)c->created, "model",
                                  g->model->name, "choices", choices, "usage", usage_json(g)));
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    exchange_write_event(g->exchange, NULL, api_error_json(error, DIALECT_OPENAI, g->exchange->id));
}

static const struct generation_format format = {
    .started = started, .event = event, .finish = finish, .stream_error = stream_error
};

static bool parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct chat *c = g->state = generation_alloc(g, sizeof *c);
    struct quire_request_params *r = &g->requests[0];
    const char *model = NULL;
    json_t *messages = NULL, *options;
    int64_t max_tokens = 0;
    if (c == NULL || !fields_init(&f, g->body, "", error))
        return false;
    fields_string(&f, "model", &model);
    fields_value(&f, "messages", &messages);
    fields_integer(&f, "max_tokens", 1, INT32_MAX, &max_tokens);
    fields_integer(&f, "max_completion_tokens", 1, INT32_MAX, &max_tokens);
    fields_boolean(&f, "stream", &c->stream);
    if (fields_object(&f, "stream_options", &options)) {
        struct fields o;
        fields_init(&o, options, "stream_options", error);
        fields_boolean(&o, "include_usage", &c->include_usage);
    }
    if (!sampling_fields_read(&f, g) || !fields_finish(&f, NULL) ||
        !chat_messages_read(g, r, messages, "messages", error))
        return false;
    r->max_tokens = (uint32_t)max_tokens;
    snprintf(c->id, sizeof c->id, "chatcmpl-%llu", (unsigned long long)g->id);
    c->created = (long)time(NULL);
    g->flags = (c->stream ? KEEP_ALIVE : KEEP_TEXT);
    g->model = registry_find(g->server->registry, model, error);
    return g->model != NULL;
}

void chat_completions_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = fields_parse(x->body, x->body_size, &error);
    struct generation *g = body ? generation_create(x, &format, body, 1, &error) : NULL;
    if (g == NULL)
        exchange_reply_error(x, &error);
    else if (parse(g, &error))
        generation_start(g);
    else
        generation_fail(g, &error);
}
