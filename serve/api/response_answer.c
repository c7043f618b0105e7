/* SPDX-License-Identifier: Apache-2.0 */
#include "response_answer.h"
#include "exchange.h"
#include "json_build.h"
#include "logprobs.h"
#include "loop.h"
#include "response_store.h"
#include "server.h"
#include "tool_fields.h"
#include <string.h>

/* ---- The object */

/* The part of the id of the response that the ids of its items have, too. */
static const char *id_suffix(const struct response *r) { return r->common.id + strlen("resp_"); }

static json_t *usage_json(const struct generation *g)
{
    const struct generation_usage u = generation_usage(g);
    return json_pack("{s:I, s:{s:I}, s:I, s:{s:i}, s:I}", "input_tokens",
                     (json_int_t)u.prompt_tokens, "input_tokens_details", "cached_tokens",
                     (json_int_t)u.cached_tokens, "output_tokens", (json_int_t)u.completion_tokens,
                     "output_tokens_details", "reasoning_tokens", 0, "total_tokens",
                     (json_int_t)u.prompt_tokens + (json_int_t)u.completion_tokens);
}

static const char *final_status(const struct generation *g)
{
    return g->answers[0].reason == QUIRE_FINISH_LENGTH ? "incomplete" : "completed";
}

/* Only the last item can be incomplete. */
static const char *item_status(const struct generation *g, size_t index)
{
    const struct response *r = g->state;
    return index + 1 == r->items.n ? final_status(g) : "completed";
}

static json_t *output_json(const struct generation *g)
{
    const struct response *r = g->state;
    json_t *output = json_array();
    for (size_t i = 0; i < r->items.n; i++)
        json_build_append(&output, response_item_json(&r->items.list[i], item_status(g, i)));
    return output;
}

/* The response; error may be NULL. */
static json_t *response_json(const struct generation *g, const char *status,
                             const struct api_error *error)
{
    const struct response *r = g->state;
    const bool incomplete = strcmp(status, "incomplete") == 0;
    const bool done = incomplete || strcmp(status, "completed") == 0;
    json_t *details = json_null(), *failure = json_null();
    if (incomplete)
        details = json_pack("{s:s}", "reason", "max_output_tokens");
    if (error != NULL)
        failure = json_pack("{s:s, s:s}", "code", error->code ? error->code : "server_error",
                            "message", error->message);
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:o, s:o}", "id", r->common.id, "object",
                  "response", "created_at", (json_int_t)r->common.created, "status", status,
                  "model", generation_model_name(g), "error", failure, "incomplete_details",
                  details, "output", done ? output_json(g) : json_array());
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

/* Sends an event of item i with a member `name`; drops the reference to its value. */
static void send_item(struct generation *g, size_t i, const char *type, const char *name,
                      json_t *value)
{
    const struct response *r = g->state;
    const struct response_item *item = &r->items.list[i];
    json_t *json = json_pack("{s:s, s:I}", "item_id", item->id, "output_index", (json_int_t)i);
    if (item->kind != ITEM_CALL)
        json_build_set(&json, "content_index", json_integer(0));
    json_build_set(&json, name, value);
    send(g, type, json);
}

static void send_item_state(struct generation *g, size_t i, const char *type, const char *status)
{
    const struct response *r = g->state;
    send(g, type,
         json_pack("{s:I, s:o}", "output_index", (json_int_t)i, "item",
                   response_item_json(&r->items.list[i], status)));
}

static void begin_item(struct generation *g, size_t i)
{
    const struct response *r = g->state;
    const struct response_item *item = &r->items.list[i];
    send_item_state(g, i, "response.output_item.added", "in_progress");
    if (item->kind != ITEM_CALL)
        send_item(g, i, "response.content_part.added", "part", response_part_json(item, false));
}

/* The whole text of an item, and its end. */
static void end_item(struct generation *g, size_t i)
{
    const struct response *r = g->state;
    const struct response_item *item = &r->items.list[i];
    json_t *text = json_stringn(item->text.data ? item->text.data : "", item->text.size);
    if (item->kind == ITEM_CALL)
        send_item(g, i, "response.function_call_arguments.done", "arguments", text);
    else if (item->kind == ITEM_REASONING)
        send_item(g, i, "response.reasoning_text.done", "text", text);
    else
        send_item(g, i, "response.output_text.done", "text", text);
    if (item->kind != ITEM_CALL)
        send_item(g, i, "response.content_part.done", "part", response_part_json(item, true));
    send_item_state(g, i, "response.output_item.done", item_status(g, i));
}

static void started(struct generation *g)
{
    const struct response *r = g->state;
    if (!r->common.stream)
        return;
    openai_stream_begin(g);
    send_response(g, "response.created", "in_progress", NULL);
    send_response(g, "response.in_progress", "in_progress", NULL);
}

/* Sends a piece; drops the reference to the log-probabilities. */
static void send_delta(struct generation *g, size_t i, const struct piece *piece, json_t *logprobs)
{
    static const char *const types[] = { "response.output_text.delta",
                                         "response.reasoning_text.delta",
                                         "response.function_call_arguments.delta" };
    const struct response *r = g->state;
    const struct response_item *item = &r->items.list[i];
    json_t *delta = json_stringn(piece->text, piece->size);
    if (item->kind != ITEM_MESSAGE) {
        json_decref(logprobs);
        send_item(g, i, types[item->kind], "delta", delta);
        return;
    }
    send(g, types[ITEM_MESSAGE],
         json_pack("{s:s, s:I, s:i, s:o, s:o}", "item_id", item->id, "output_index", (json_int_t)i,
                   "content_index", 0, "delta", delta, "logprobs",
                   logprobs ? logprobs : json_array()));
}

/* Adds a piece to its item; drops the reference to the log-probabilities, which may be NULL. */
static void add_piece(struct generation *g, const struct piece *piece, json_t *logprobs)
{
    struct response *r = g->state;
    const size_t n = r->items.n;
    bool begun;
    struct response_item *item = response_items_find(&r->items, piece, id_suffix(r), &begun);
    if (item == NULL) {
        json_decref(logprobs);
        return;
    }
    if (r->common.stream && begun && n > 0)
        end_item(g, n - 1);
    if (r->common.stream && begun)
        begin_item(g, n);
    text_add(&item->text, piece->text, piece->size);
    if (logprobs != NULL && item->kind == ITEM_MESSAGE &&
        !logprobs_extend(&item->logprobs, json_deep_copy(logprobs)))
        r->failed = true;
    r->failed = r->failed || item->text.failed || item->name.failed || item->call_id.failed;
    if (r->common.stream && piece->size > 0)
        send_delta(g, r->items.n - 1, piece, logprobs);
    else
        json_decref(logprobs);
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    static const struct piece no_text = { .kind = PIECE_TEXT, .text = "" };
    struct response *r = g->state;
    json_t *logprobs = NULL;
    (void)index;
    if (ev->kind == QUIRE_EVENT_TEXT && r->logprobs) {
        logprobs = logprobs_chat(quire_engine_tokenizer(g->model->engine), &g->requests[0], ev);
        r->failed = r->failed || logprobs == NULL;
    }
    for (size_t i = 0; i < answer->n_pieces; i++, logprobs = NULL) /* those of the first piece */
        add_piece(g, &answer->pieces[i], logprobs);
    if (json_array_size(logprobs) > 0)
        add_piece(g, &no_text, logprobs);
    else
        json_decref(logprobs);
}

/* ---- The end */

/* The answer as a message of the chat API, for later turns. */
static json_t *answer_message(const struct answer *a)
{
    json_t *message = json_pack("{s:s, s:s%}", "role", "assistant", "content",
                                a->text.data ? a->text.data : "", a->text.size);
    if (a->n_calls > 0)
        json_build_set(&message, "tool_calls", tool_calls_json(a));
    return message;
}

/* Keeps the response for later turns. */
static void store(struct generation *g)
{
    const struct response *r = g->state;
    struct stored_response stored = { .response = response_json(g, final_status(g), NULL),
                                      .input = json_incref(r->input),
                                      .conversation = json_copy(r->conversation) };
    json_build_append(&stored.conversation, answer_message(&g->answers[0]));
    response_store_add(g->server->responses, g->key, r->common.id, &stored);
}

static void finish(struct generation *g)
{
    struct response *r = g->state;
    const char *status = final_status(g);
    if (r->items.n == 0 && response_items_add_message(&r->items, id_suffix(r)) != NULL &&
        r->common.stream)
        begin_item(g, 0);
    r->failed = r->failed || r->items.failed;
    if (r->store && !r->failed)
        store(g);
    if (!r->common.stream) {
        exchange_reply_json(g->exchange, 200, r->failed ? NULL : response_json(g, status, NULL));
        return;
    }
    if (r->items.n > 0)
        end_item(g, r->items.n - 1);
    send_response(g,
                  strcmp(status, "completed") == 0 ? "response.completed" : "response.incomplete",
                  status, NULL);
    exchange_end(g->exchange);
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    send_response(g, "response.failed", "failed", error);
}

static void destroy(struct generation *g)
{
    struct response *r = g->state;
    if (r == NULL)
        return;
    response_items_free(&r->items);
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
