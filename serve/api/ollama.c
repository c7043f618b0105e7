/* SPDX-License-Identifier: Apache-2.0 */
#include "ollama.h"
#include "chat_messages.h"
#include "exchange.h"
#include "json_build.h"
#include "ollama_common.h"
#include "openai_answer.h"
#include "server.h"
#include "structure_fields.h"
#include "template_fields.h"
#include "tool_fields.h"
#include <stdio.h>
#include <string.h>

struct ollama {
    bool stream;
    bool chat; /* the text is message.content instead of response */
    bool load; /* no prompt: the model is opened, nothing is computed */
};

static json_t *string_of(const struct text *t)
{
    return json_stringn(t->data ? t->data : "", t->size);
}

/* Calls with their arguments as objects, in Ollama's notation. */
static json_t *calls_json(const struct answer *a)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < a->n_calls; i++)
        json_build_append(&calls, json_pack("{s:{s:i, s:o, s:o}}", "function", "index", (int)i,
                                            "name", string_of(&a->calls[i].name), "arguments",
                                            answer_call_arguments(&a->calls[i])));
    return calls;
}

/* An object with pieces of an answer: content, thinking, calls. */
static json_t *piece(const struct generation *g, const struct answer *a, bool done)
{
    const struct ollama *o = g->state;
    json_t *object = json_pack("{s:s, s:o}", "model", generation_model_name(g), "created_at",
                               ollama_time(time(NULL)));
    json_t *message = json_pack("{s:s, s:o}", "role", "assistant", "content", string_of(&a->text));
    if (a->reasoning.size > 0)
        json_build_set(o->chat ? &message : &object, "thinking", string_of(&a->reasoning));
    if (a->n_calls > 0)
        json_build_set(&message, "tool_calls", calls_json(a));
    if (o->chat)
        json_build_set(&object, "message", json_incref(message));
    else
        json_build_set(&object, "response", string_of(&a->text));
    json_decref(message);
    json_build_set(&object, "done", json_boolean(done));
    return object;
}

/* Sends a line; drops the reference. */
static void send_line(struct generation *g, json_t *json)
{
    struct text line = { 0 };
    json_build_write(&line, json);
    text_add_string(&line, "\n");
    if (!line.failed)
        exchange_write(g->exchange, line.data, line.size);
    text_free(&line);
}

static void started(struct generation *g)
{
    const struct ollama *o = g->state;
    if (o->stream)
        exchange_begin_stream(g->exchange, 200, "application/x-ndjson");
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    const struct ollama *o = g->state;
    struct answer part = { 0 };
    (void)index;
    if (!o->stream)
        return;
    for (size_t i = 0; i < answer->n_pieces; i++) {
        const struct piece *p = &answer->pieces[i];
        if (p->kind == PIECE_CALL) /* calls come whole, at the end */
            continue;
        text_add(p->kind == PIECE_TEXT ? &part.text : &part.reasoning, p->text, p->size);
        send_line(g, piece(g, &part, false));
        answer_free(&part);
        part = (struct answer){ 0 };
    }
    if (ev->kind == QUIRE_EVENT_DONE && answer->n_calls > 0) {
        part.calls = answer->calls;
        part.n_calls = answer->n_calls;
        send_line(g, piece(g, &part, false));
    }
}

/* Ollama knows no reason of its own for calls. */
static const char *done_reason(enum quire_finish_reason reason)
{
    return reason == QUIRE_FINISH_LENGTH ? "length" : "stop";
}

static void finish(struct generation *g)
{
    const struct ollama *o = g->state;
    static const struct answer nothing;
    const bool whole = g->answers != NULL && !exchange_is_streaming(g->exchange);
    json_t *last = piece(g, whole ? &g->answers[0] : &nothing, true);
    json_build_set(&last, "done_reason",
                   json_string(o->load ? "load" : done_reason(g->answers[0].reason)));
    if (!o->load)
        ollama_add_durations(&last, g, true);
    if (!exchange_is_streaming(g->exchange)) {
        exchange_reply_json(g->exchange, 200, last);
        return;
    }
    send_line(g, last);
    exchange_end(g->exchange);
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    send_line(g, api_error_json(error, DIALECT_OLLAMA, g->exchange->id));
}

static const struct generation_format chat_format = { .input = "messages",
                                                      .started = started,
                                                      .event = event,
                                                      .finish = finish,
                                                      .stream_error = stream_error };
static const struct generation_format generate_format = { .input = "prompt",
                                                          .started = started,
                                                          .event = event,
                                                          .finish = finish,
                                                          .stream_error = stream_error };

/* Opens the model only. */
static bool no_work(struct generation *g, struct api_error *error)
{
    (void)g;
    (void)error;
    return true;
}

static const struct generation_format load_format = { .work = no_work, .finish = finish };

/* ---- Requests */

static const char *const harmless[] = { "keep_alive", NULL };

/* `format`: "json", or a JSON schema; "" is none. */
static bool read_format(struct fields *f, struct generation *g)
{
    json_t *v;
    if (!fields_value(f, "format", &v) || (json_is_string(v) && json_string_length(v) == 0))
        return f->error->status == 0;
    if (json_is_object(v))
        return structure_set_schema(g, "format", v, false, f->error);
    if (!json_is_string(v) || strcmp(json_string_value(v), "json") != 0)
        return fields_fail(f, "format", "format must be \"json\" or a JSON schema.");
    structure_set_json_object(g, "format");
    return true;
}

/* `think`: true, false or an effort, for the template. */
static bool read_think(struct fields *f, struct generation *g)
{
    json_t *v, *variables;
    if (!fields_value(f, "think", &v))
        return f->error->status == 0;
    if (!json_is_boolean(v) && !json_is_string(v))
        return fields_fail(f, "think", "think must be a boolean or a string.");
    if (json_is_boolean(v))
        variables = json_pack("{s:O}", "enable_thinking", v);
    else {
        variables = json_pack("{s:b}", "enable_thinking", 1);
        template_fields_set_effort(&variables, json_string_value(v));
    }
    g->requests[0].variables_json = template_fields_dump(g, variables, f->error);
    json_decref(variables);
    return f->error->status == 0;
}

/* What both routes have in common. */
static bool read_common(struct fields *f, struct generation *g, bool chat)
{
    struct ollama *o = g->state = generation_alloc(g, sizeof *o);
    if (o == NULL)
        return api_fail(f->error, 500, NULL, NULL, "out of memory");
    o->chat = chat;
    o->stream = true;
    fields_init(f, g->body, "", f->error);
    if (!ollama_read_model(f, g) || !ollama_read_options(f, g))
        return false;
    fields_boolean(f, "stream", &o->stream);
    g->flags = KEEP_TEXT;
    fields_unsupported(f, "logprobs", json_false());
    return read_format(f, g) && read_think(f, g);
}

static void only_load(struct generation *g)
{
    struct ollama *o = g->state;
    o->load = true;
    o->stream = false;
    g->format = &load_format;
}

/* Images of messages. */
static bool refuse_images(json_t *messages, struct api_error *error)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        char param[64];
        snprintf(param, sizeof param, "messages[%zu].images", i);
        if (json_array_size(json_object_get(json_array_get(messages, i), "images")) > 0)
            return api_fail(error, 400, "unsupported_parameter", param, "%s is not supported.",
                            param);
    }
    return true;
}

static bool parse_chat(struct generation *g, struct api_error *error)
{
    struct fields f = { .error = error };
    json_t *messages = NULL;
    if (!read_common(&f, g, true))
        return false;
    g->output.parse = true;
    fields_array(&f, "messages", 4096, &messages);
    if (!tool_fields_read(&f, g, TOOLS_OPENAI) || !fields_finish(&f, harmless) ||
        !refuse_images(messages, error))
        return false;
    if (json_array_size(messages) > 0)
        return chat_messages_read(g, &g->requests[0], messages, "messages", error);
    only_load(g);
    return true;
}

/* The prompt as a conversation: a system message if there is one, and a user message. */
static bool set_conversation(struct generation *g, const char *system, const char *prompt)
{
    struct quire_chat_message *m = generation_alloc(g, 2 * sizeof *m);
    struct quire_request_params *r = &g->requests[0];
    if (m == NULL)
        return false;
    r->messages = m;
    if (system != NULL && system[0] != '\0')
        m[r->n_messages++] = (struct quire_chat_message){ .role = "system", .content = system };
    m[r->n_messages++] = (struct quire_chat_message){ .role = "user", .content = prompt };
    return true;
}

static bool parse_generate(struct generation *g, struct api_error *error)
{
    struct fields f = { .error = error };
    const char *prompt = NULL, *system = NULL;
    bool raw = false;
    if (!read_common(&f, g, false))
        return false;
    fields_string(&f, "prompt", &prompt);
    fields_string(&f, "system", &system);
    fields_boolean(&f, "raw", &raw);
    fields_unsupported(&f, "suffix", json_string(""));
    fields_unsupported(&f, "template", json_string(""));
    fields_unsupported(&f, "context", json_array());
    fields_unsupported(&f, "images", json_array());
    if (!fields_finish(&f, harmless))
        return false;
    if (prompt == NULL || prompt[0] == '\0') {
        only_load(g);
    } else if (raw) {
        g->requests[0].text = prompt;
        g->requests[0].text_size = strlen(prompt);
        g->requests[0].text_flags = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_PARSE_SPECIAL;
    } else {
        g->output.parse = true;
        if (!set_conversation(g, system, prompt))
            return api_fail(error, 500, NULL, NULL, "out of memory");
    }
    return true;
}

void ollama_chat_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &chat_format, body, body != NULL, parse_chat, &error);
}

void ollama_generate_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &generate_format, body, body != NULL, parse_generate, &error);
}
