/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "openai_answer.h"
#include "sampling_fields.h"
#include "server.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

struct message {
    struct openai_answer common; /* id, stream */
    bool begun;                  /* message_start is sent */
    bool failed;                 /* out of memory */
    struct text tokens;          /* int32_t ids of the answer, for the stop sequence */
    size_t count;                /* of count_tokens */
};

/* ---- Answer */

static json_t *usage_json(const struct generation *g, bool with_input)
{
    const struct generation_usage u = generation_usage(g);
    if (!with_input)
        return json_pack("{s:I}", "output_tokens", (json_int_t)u.completion_tokens);
    return json_pack("{s:I, s:i, s:I, s:I}", "input_tokens",
                     (json_int_t)(u.prompt_tokens - u.cached_tokens), "cache_creation_input_tokens",
                     0, "cache_read_input_tokens", (json_int_t)u.cached_tokens, "output_tokens",
                     (json_int_t)u.completion_tokens);
}

/* The stop sequence that ended the answer; NULL: an end-of-generation token did. The answer ends
 * before the sequence, which the decoded tokens contain. */
static const char *matched_stop(struct generation *g)
{
    const struct message *m = g->state;
    const struct quire_request_params *r = &g->requests[0];
    const struct quire_tokenizer *tok = quire_engine_tokenizer(g->model->engine);
    const int32_t *ids = (const int32_t *)(const void *)m->tokens.data;
    const size_t n = m->tokens.size / sizeof *ids, end = g->answers[0].text.size;
    const uint32_t flags =
        QUIRE_DETOKENIZE_CONTINUES |
        (r->flags & QUIRE_REQUEST_SHOW_SPECIAL ? (uint32_t)QUIRE_DETOKENIZE_SPECIAL : 0u);
    size_t size = 0;
    if (n == 0 || quire_tokenizer_is_eog(tok, ids[n - 1]) ||
        quire_tokenizer_decode(tok, ids, n, flags, NULL, 0, &size, NULL) != QUIRE_OK)
        return NULL;
    char *text = generation_alloc(g, size + 1);
    if (text == NULL || end > size ||
        quire_tokenizer_decode(tok, ids, n, flags, text, size, &size, NULL) != QUIRE_OK)
        return NULL;
    for (uint32_t i = 0; i < r->n_stop; i++)
        if (strncmp(text + end, r->stop[i], strlen(r->stop[i])) == 0)
            return r->stop[i];
    return NULL;
}

static const char *stop_reason(const struct generation *g, const char *stop)
{
    if (g->answers[0].reason == QUIRE_FINISH_LENGTH)
        return "max_tokens";
    return stop != NULL ? "stop_sequence" : "end_turn";
}

/* The message object without its last members. */
static json_t *message_json(const struct generation *g, json_t *content, const char *reason,
                            const char *stop)
{
    const struct message *m = g->state;
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:s?, s:o}", "id", m->common.id, "type",
                     "message", "role", "assistant", "model", g->model->name, "content", content,
                     "stop_reason", reason, "stop_sequence", stop, "usage", usage_json(g, true));
}

/* ---- Stream */

/* Sends an event; `type` is its name and a member of its data. */
static void send(struct generation *g, const char *type, json_t *json)
{
    exchange_write_event(g->exchange, type, json);
    g->last_write = loop_now(g->server->loop);
}

/* The first events wait for the first event of the engine, which knows the length of the prompt. */
static void begin_message(struct generation *g)
{
    struct message *m = g->state;
    if (m->begun)
        return;
    m->begun = true;
    send(g, "message_start",
         json_pack("{s:s, s:o}", "type", "message_start", "message",
                   message_json(g, json_array(), NULL, NULL)));
    send(g, "content_block_start",
         json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_start", "index", 0,
                   "content_block", "type", "text", "text", ""));
    send(g, "ping", json_pack("{s:s}", "type", "ping"));
}

static void started(struct generation *g)
{
    const struct message *m = g->state;
    if (m->common.stream)
        exchange_begin_stream(g->exchange, 200, "text/event-stream; charset=utf-8");
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    struct message *m = g->state;
    (void)index;
    (void)answer;
    if (ev->kind == QUIRE_EVENT_TEXT && g->requests[0].n_stop > 0)
        text_add(&m->tokens, ev->tokens, ev->n_tokens * sizeof *ev->tokens);
    if (!m->common.stream)
        return;
    begin_message(g);
    if (ev->kind == QUIRE_EVENT_TEXT && ev->text_size > 0)
        send(g, "content_block_delta",
             json_pack("{s:s, s:i, s:{s:s, s:s%}}", "type", "content_block_delta", "index", 0,
                       "delta", "type", "text_delta", "text", ev->text, ev->text_size));
}

static void finish_stream(struct generation *g)
{
    const char *stop = matched_stop(g);
    send(g, "content_block_stop",
         json_pack("{s:s, s:i}", "type", "content_block_stop", "index", 0));
    send(g, "message_delta",
         json_pack("{s:s, s:{s:s, s:s?}, s:o}", "type", "message_delta", "delta", "stop_reason",
                   stop_reason(g, stop), "stop_sequence", stop, "usage", usage_json(g, false)));
    send(g, "message_stop", json_pack("{s:s}", "type", "message_stop"));
    exchange_end(g->exchange);
}

static void finish(struct generation *g)
{
    const struct message *m = g->state;
    if (m->common.stream) {
        finish_stream(g);
        return;
    }
    const char *stop = matched_stop(g);
    const struct text *t = &g->answers[0].text;
    json_t *content = json_array();
    if (t->size > 0)
        json_build_append(&content,
                          json_pack("{s:s, s:s%}", "type", "text", "text", t->data, t->size));
    exchange_reply_json(g->exchange, 200, message_json(g, content, stop_reason(g, stop), stop));
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    send(g, "error", api_error_json(error, DIALECT_ANTHROPIC, g->exchange->id));
}

static void destroy(struct generation *g)
{
    struct message *m = g->state;
    if (m != NULL)
        text_free(&m->tokens);
}

static const struct generation_format format = {
    .input = "messages",
    .started = started,
    .event = event,
    .finish = finish,
    .stream_error = stream_error,
    .destroy = destroy,
};

/* ---- Request */

/* `system`: a string, or blocks of type text. */
static const char *read_system(struct fields *f, struct generation *g)
{
    json_t *v;
    struct text joined = { 0 };
    if (!fields_value(f, "system", &v))
        return NULL;
    if (json_is_string(v)) {
        const char *system = NULL;
        fields_string(f, "system", &system);
        return system;
    }
    if (!json_is_array(v))
        fields_fail(f, "system", "system must be a string or an array of text blocks.");
    for (size_t i = 0; i < json_array_size(v); i++) {
        static const char *const types[] = { "text", NULL };
        struct fields block;
        char path[40];
        unsigned type = 0;
        const char *text = "";
        snprintf(path, sizeof path, "system[%zu]", i);
        if (fields_init(&block, json_array_get(v, i), path, f->error) &&
            (!fields_choice(&block, "type", types, &type) || !fields_string(&block, "text", &text)))
            fields_fail(&block, "", "%s must have a type and a text.", path);
        text_add_string(&joined, text);
    }
    char *copy = generation_alloc(g, joined.size + 1);
    if (copy == NULL || joined.failed)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    else if (joined.size > 0)
        memcpy(copy, joined.data, joined.size);
    text_free(&joined);
    return copy;
}

/* Roles are user and assistant; the system message is a parameter. */
static bool check_roles(const struct quire_request_params *r, struct api_error *error)
{
    for (size_t i = 0; i < r->n_messages; i++) {
        char param[64];
        snprintf(param, sizeof param, "messages[%zu].role", i);
        if (strcmp(r->messages[i].role, "user") != 0 &&
            strcmp(r->messages[i].role, "assistant") != 0)
            return api_fail(error, 400, NULL, param, "the role must be user or assistant");
    }
    return true;
}

static bool read_messages(struct fields *f, struct generation *g)
{
    struct quire_request_params *r = &g->requests[0];
    json_t *messages = NULL;
    fields_value(f, "messages", &messages);
    const char *system = read_system(f, g);
    if (f->error->status != 0 || !chat_messages_read(g, r, messages, "messages", f->error) ||
        !check_roles(r, f->error))
        return false;
    if (system == NULL)
        return true;
    struct quire_chat_message *all = generation_alloc(g, (r->n_messages + 1) * sizeof *all);
    if (all == NULL)
        return api_fail(f->error, 500, NULL, NULL, "out of memory");
    all[0] = (struct quire_chat_message){ .role = "system", .content = system };
    memcpy(all + 1, r->messages, r->n_messages * sizeof *all);
    r->messages = all;
    r->n_messages++;
    return true;
}

static void refuse_unsupported(struct fields *f)
{
    json_t *thinking;
    if (fields_object(f, "thinking", &thinking)) {
        const char *type = json_string_value(json_object_get(thinking, "type"));
        if (type == NULL || strcmp(type, "disabled") != 0)
            fields_fail(f, "thinking", "thinking is not supported.");
    }
    fields_unsupported(f, "tools", json_array());
    fields_unsupported(f, "tool_choice", NULL);
    fields_unsupported(f, "mcp_servers", json_array());
    fields_unsupported(f, "container", NULL);
    fields_unsupported(f, "output_format", NULL);
    fields_unsupported(f, "output_config", NULL);
}

static const char *const harmless[] = { "metadata", "service_tier", "context_management", NULL };

static struct message *new_message(struct generation *g, struct fields *f, struct api_error *error)
{
    struct message *m = g->state = generation_alloc(g, sizeof *m);
    if (m == NULL)
        api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(f, g->body, "", error);
    return m;
}

static bool parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct message *m = new_message(g, &f, error);
    int64_t max_tokens = 0;
    if (m == NULL || !openai_answer_init(&m->common, g, &f, "msg") || !read_messages(&f, g))
        return false;
    if (!fields_integer(&f, "max_tokens", 1, INT32_MAX, &max_tokens))
        fields_fail(&f, "max_tokens", "max_tokens is missing.");
    g->requests[0].max_tokens = (uint32_t)max_tokens;
    fields_boolean(&f, "stream", &m->common.stream);
    g->flags = KEEP_TEXT | (m->common.stream ? KEEP_ALIVE : 0);
    refuse_unsupported(&f);
    if (!sampling_fields_read(&f, g))
        return false;
    if (g->requests[0].n > 1)
        return fields_fail(&f, "n", "n must be 1.");
    return fields_finish(&f, harmless);
}

void messages_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &format, body, body != NULL, parse, &error);
}

/* ---- POST /v1/messages/count_tokens */

static bool count_work(struct generation *g, struct api_error *error)
{
    struct message *m = g->state;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s =
        quire_engine_count_tokens(g->model->engine, &g->requests[0], &m->count, &err);
    return s == QUIRE_OK || generation_engine_error(g, 0, s, &err, error);
}

static void count_finish(struct generation *g)
{
    const struct message *m = g->state;
    exchange_reply_json(g->exchange, 200, json_pack("{s:I}", "input_tokens", (json_int_t)m->count));
}

static const struct generation_format count_format = { .input = "messages",
                                                       .work = count_work,
                                                       .finish = count_finish };

static bool parse_count(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct message *m = new_message(g, &f, error);
    if (m == NULL || !openai_answer_init(&m->common, g, &f, "msg") || !read_messages(&f, g))
        return false;
    refuse_unsupported(&f);
    return fields_finish(&f, harmless);
}

void messages_count_tokens_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &count_format, body, body != NULL, parse_count, &error);
}
