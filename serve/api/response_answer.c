/* SPDX-License-Identifier: Apache-2.0 */
#include "response_answer.h"
#include "exchange.h"
#include "json_build.h"
#include "logprobs.h"
#include "response_store.h"
#include "server.h"
#include <string.h>

/* ---- The object */

static json_t *usage_json(const struct generation *g)
{
    const struct generation_usage u = generation_usage(g);
    return json_pack("{s:I, s:{s:I}, s:I, s:{s:i}, s:I}", "input_tokens",
                     (json_int_t)u.prompt_tokens, "input_tokens_details", "cached_tokens",
                     (json_int_t)u.cached_tokens, "output_tokens", (json_int_t)u.completion_tokens,
                     "output_tokens_details", "reasoning_tokens", 0, "total_tokens",
                     (json_int_t)(u.prompt_tokens + u.completion_tokens));
}

static const char *final_status(const struct generation *g)
{
    return g->answers[0].reason == QUIRE_FINISH_LENGTH ? "incomplete" : "completed";
}

static json_t *logprobs_json(const struct generation *g)
{
    const json_t *list = g->answers[0].data;
    return list != NULL ? json_deep_copy(list) : json_array();
}

/* The part of the message with the text; `done`: as far as it has come, else empty. */
static json_t *part_json(const struct generation *g, bool done)
{
    const struct text *t = &g->answers[0].text;
    return json_pack("{s:s, s:s%, s:[], s:o}", "type", "output_text", "text",
                     done && t->data ? t->data : "", done ? t->size : 0, "annotations", "logprobs",
                     done ? logprobs_json(g) : json_array());
}

static json_t *item_json(const struct generation *g, bool done)
{
    const struct response *r = g->state;
    json_t *content = json_array();
    if (done)
        json_build_append(&content, part_json(g, true));
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "type", "message", "id", r->item_id, "status",
                     done ? final_status(g) : "in_progress", "role", "assistant", "content",
                     content);
}

/* The response; error may be NULL. */
static json_t *response_json(const struct generation *g, const char *status,
                             const struct api_error *error)
{
    const struct response *r = g->state;
    const bool incomplete = strcmp(status, "incomplete") == 0;
    const bool done = incomplete || strcmp(status, "completed") == 0;
    json_t *output = json_array(), *details = json_null(), *failure = json_null();
    if (done)
        json_build_append(&output, item_json(g, true));
    if (incomplete)
        details = json_pack("{s:s}", "reason", "max_output_tokens");
    if (error != NULL)
        failure = json_pack("{s:s, s:s}", "code", error->code ? error->code : "server_error",
                            "message", error->message);
    json_t *object = json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:o, s:o}", "id", r->common.id,
                               "object", "response", "created_at", (json_int_t)r->common.created,
                               "status", status, "model", g->model->name, "error", failure,
                               "incomplete_details", details, "output", output);
    json_build_set(&object, "usage", done ? usage_json(g) : json_null());
    if (object != NULL && json_object_update(object, r->echo) != 0) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* ---- The stream */

/* Sends an event with a type and a number; drops the reference. */
static void send(struct generation *g, const char *type, json_t *json)
{
    struct response *r = g->state;
    json_build_set(&json, "type", json_string(type));
    json_build_set(&json, "sequence_number", json_integer((json_int_t)r->sequence++));
    exchange_write_event(g->exchange, type, json);
    g->last_write = loop_now(g->server->loop);
}

static void send_response(struct generation *g, const char *type, const char *status,
                          const struct api_error *error)
{
    send(g, type, json_pack("{s:o}", "response", response_json(g, status, error)));
}

/* Members that place an event in the output. */
static json_t *place(const struct generation *g)
{
    const struct response *r = g->state;
    return json_pack("{s:s, s:i, s:i}", "item_id", r->item_id, "output_index", 0, "content_index",
                     0);
}

static void started(struct generation *g)
{
    struct response *r = g->state;
    if (!r->common.stream)
        return;
    r->begun = true;
    openai_stream_begin(g);
    send_response(g, "response.created", "in_progress", NULL);
    send_response(g, "response.in_progress", "in_progress", NULL);
    send(g, "response.output_item.added",
         json_pack("{s:i, s:o}", "output_index", 0, "item", item_json(g, false)));
    json_t *part = place(g);
    json_build_set(&part, "part", part_json(g, false));
    send(g, "response.content_part.added", part);
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    struct response *r = g->state;
    json_t *list = NULL;
    (void)index;
    if (ev->kind != QUIRE_EVENT_TEXT)
        return;
    if (r->logprobs) {
        list = logprobs_chat(quire_engine_tokenizer(g->model->engine), &g->requests[0], ev);
        if (!logprobs_extend(&answer->data, list ? json_deep_copy(list) : NULL))
            r->failed = true;
    }
    if (!r->common.stream || ev->text_size == 0) {
        json_decref(list);
        return;
    }
    json_t *delta = place(g);
    json_build_set(&delta, "delta", json_stringn(ev->text, ev->text_size));
    json_build_set(&delta, "logprobs", list ? list : json_array());
    send(g, "response.output_text.delta", delta);
}

static void finish_stream(struct generation *g)
{
    const struct text *t = &g->answers[0].text;
    const char *status = final_status(g);
    json_t *text = place(g), *part = place(g);
    json_build_set(&text, "text", json_stringn(t->data ? t->data : "", t->size));
    json_build_set(&text, "logprobs", logprobs_json(g));
    send(g, "response.output_text.done", text);
    json_build_set(&part, "part", part_json(g, true));
    send(g, "response.content_part.done", part);
    send(g, "response.output_item.done",
         json_pack("{s:i, s:o}", "output_index", 0, "item", item_json(g, true)));
    send_response(g,
                  strcmp(status, "completed") == 0 ? "response.completed" : "response.incomplete",
                  status, NULL);
    exchange_end(g->exchange);
}

/* Keeps the response for later turns. */
static void store(struct generation *g)
{
    const struct response *r = g->state;
    const struct text *t = &g->answers[0].text;
    struct stored_response stored = { .response = response_json(g, final_status(g), NULL),
                                      .input = json_incref(r->input),
                                      .conversation = json_copy(r->conversation) };
    json_build_append(&stored.conversation, json_pack("{s:s, s:s%}", "role", "assistant", "content",
                                                      t->data ? t->data : "", t->size));
    response_store_add(g->server->responses, g->key, r->common.id, &stored);
}

static void finish(struct generation *g)
{
    const struct response *r = g->state;
    if (r->store && !r->failed)
        store(g);
    if (r->common.stream)
        finish_stream(g);
    else
        exchange_reply_json(g->exchange, 200,
                            r->failed ? NULL : response_json(g, final_status(g), NULL));
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    send_response(g, "response.failed", "failed", error);
}

static void destroy(struct generation *g)
{
    const struct response *r = g->state;
    if (r == NULL)
        return;
    json_decref(r->echo);
    json_decref(r->input);
    json_decref(r->messages);
    json_decref(r->conversation);
}

const struct generation_format response_format = {
    .input = "input",
    .started = started,
    .event = event,
    .finish = finish,
    .stream_error = stream_error,
    .destroy = destroy,
};
