/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_completions.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "logprobs.h"
#include "openai_answer.h"
#include "sampling_fields.h"
#include "template_fields.h"
#include "tool_fields.h"
#include <string.h>

enum { MAX_LOGPROBS = 20 };

struct chat {
    struct openai_answer answer;
    bool logprobs;
    bool failed; /* out of memory */
};

/* A chunk with one choice; drops the references. */
static void write_delta(struct generation *g, uint32_t choice, json_t *delta, json_t *logprobs,
                        const char *reason)
{
    const struct chat *c = g->state;
    openai_stream_write(&c->answer, g, &g->answers[choice],
                        json_pack("{s:I, s:o, s:o, s:s?}", "index", (json_int_t)choice, "delta",
                                  delta, "logprobs", logprobs, "finish_reason", reason));
}

static void started(struct generation *g)
{
    const struct chat *c = g->state;
    if (!c->answer.stream)
        return;
    openai_stream_begin(g);
    for (uint32_t i = 0; i < g->choices; i++)
        write_delta(g, i, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), json_null(),
                    NULL);
}

/* {"content": LIST, "refusal": null}; drops the reference to the list. */
static json_t *logprobs_json(json_t *list)
{
    return json_pack("{s:o, s:n}", "content", list, "refusal");
}

/* The delta of a piece. */
static json_t *delta_json(const struct piece *p)
{
    if (p->kind == PIECE_CALL)
        return json_pack("{s:[o]}", "tool_calls", tool_call_delta(p));
    return json_pack("{s:s%}", p->kind == PIECE_TEXT ? "content" : "reasoning_content", p->text,
                     p->size);
}

/* Sends the pieces of an event; the first one has the log-probabilities, a chunk without text if
 * there is no piece. Drops the reference to them. */
static void stream_pieces(struct generation *g, const struct answer *answer, uint32_t choice,
                          json_t *logprobs)
{
    const struct chat *c = g->state;
    if (answer->n_pieces == 0 && json_array_size(logprobs) > 0) {
        write_delta(g, choice, json_pack("{s:s}", "content", ""), logprobs_json(logprobs), NULL);
        return;
    }
    for (size_t i = 0; i < answer->n_pieces; i++) {
        json_t *own = c->logprobs && i == 0 ? logprobs_json(json_incref(logprobs)) : json_null();
        write_delta(g, choice, delta_json(&answer->pieces[i]), own, NULL);
    }
    json_decref(logprobs);
}

static void text_event(struct generation *g, struct answer *answer, const struct quire_event *ev)
{
    struct chat *c = g->state;
    json_t *list = NULL;
    if (c->logprobs)
        list = logprobs_chat(quire_engine_tokenizer(g->model->engine), &g->requests[0], ev);
    if (c->answer.stream) {
        if (c->logprobs && list == NULL)
            c->failed = true;
        stream_pieces(g, answer, ev->choice, list);
    } else if (c->logprobs && !logprobs_extend(&answer->data, list)) {
        c->failed = true;
    }
}

static void event(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev)
{
    const struct chat *c = g->state;
    (void)index;
    if (ev->kind == QUIRE_EVENT_TEXT)
        text_event(g, answer, ev);
    else if (c->answer.stream && ev->kind == QUIRE_EVENT_PROMPT)
        openai_stream_progress(&c->answer, g, ev->usage,
                               json_pack("{s:I, s:{s:s, s:n}, s:n}", "index",
                                         (json_int_t)ev->choice, "delta", "role", "assistant",
                                         "content", "finish_reason"));
    if (!c->answer.stream || ev->kind != QUIRE_EVENT_DONE)
        return;
    for (size_t i = 0; i < answer->n_pieces; i++)
        write_delta(g, ev->choice, delta_json(&answer->pieces[i]), json_null(), NULL);
    write_delta(g, ev->choice, json_object(), json_null(), openai_finish_reason(answer));
}

/* The message of an answer: content is null beside calls without a text. */
static json_t *message_json(const struct answer *a)
{
    json_t *message = json_pack("{s:s, s:s%, s:n}", "role", "assistant", "content",
                                a->text.data ? a->text.data : "", a->text.size, "refusal");
    if (a->reasoning.size > 0)
        json_build_set(&message, "reasoning_content",
                       json_stringn(a->reasoning.data, a->reasoning.size));
    if (a->n_calls > 0)
        json_build_set(&message, "tool_calls", tool_calls_json(a));
    if (a->n_calls > 0 && a->text.size == 0)
        json_build_set(&message, "content", json_null());
    return message;
}

static json_t *choice_json(const struct chat *c, uint32_t index, const struct answer *a)
{
    json_t *logprobs = json_null();
    if (c->logprobs) /* an answer without text has no list */
        logprobs = logprobs_json(a->data ? json_incref(a->data) : json_array());
    return json_pack("{s:I, s:o, s:o, s:s}", "index", (json_int_t)index, "message", message_json(a),
                     "logprobs", logprobs, "finish_reason", openai_finish_reason(a));
}

static void finish(struct generation *g)
{
    const struct chat *c = g->state;
    if (c->answer.stream) {
        openai_stream_end(&c->answer, g);
        return;
    }
    json_t *choices = c->failed ? NULL : json_array();
    for (uint32_t i = 0; i < g->choices; i++)
        json_build_append(&choices, choice_json(c, i, &g->answers[i]));
    const struct generation_usage u = generation_usage(g);
    json_t *answer = openai_object(&c->answer, g, c->answer.object, choices);
    json_build_set(&answer, "usage", openai_usage(&u));
    json_build_set(&answer, "timings", openai_timings(&g->answers[0].usage));
    exchange_reply_json(g->exchange, 200, answer);
}

static const struct generation_format format = {
    .started = started,
    .event = event,
    .finish = finish,
    .stream_error = openai_stream_error,
    .input = "messages",
};

static void read_logprobs(struct fields *f, struct generation *g, struct chat *c)
{
    struct quire_request_params *r = &g->requests[0];
    int64_t top = 0;
    fields_boolean(f, "logprobs", &c->logprobs);
    if (fields_integer(f, "top_logprobs", 0, MAX_LOGPROBS, &top) && top > 0 && !c->logprobs)
        fields_fail(f, "top_logprobs", "top_logprobs needs logprobs: true.");
    if (!c->logprobs)
        return;
    r->flags |= QUIRE_REQUEST_LOGPROBS;
    r->n_logprobs = (uint32_t)top;
}

/* Parameters that would change the answer, with the value that changes nothing. */
static void refuse_unsupported(struct fields *f)
{
    json_t *call = json_object_get(f->object, "function_call"); /* without functions */
    const bool automatic = json_is_string(call) && strcmp(json_string_value(call), "auto") == 0;
    fields_unsupported(f, "function_call", json_string(automatic ? "auto" : "none"));
    fields_unsupported(f, "functions", json_array());
    fields_unsupported(f, "modalities", json_pack("[s]", "text"));
    fields_unsupported(f, "audio", NULL);
    fields_unsupported(f, "web_search_options", NULL);
    fields_unsupported(f, "verbosity", json_string("medium"));
    /* of llama.cpp and vLLM */
    fields_unsupported(f, "echo", json_false());
    fields_unsupported(f, "include_stop_str_in_output", json_false());
}

/* How reasoning is shown: apart from the answer, or as it comes with all marks (llama.cpp). */
static bool read_reasoning_format(struct fields *f, struct generation *g)
{
    static const char *const formats[] = { "auto", "deepseek", "none", NULL };
    unsigned choice = 0;
    fields_choice(f, "reasoning_format", formats, &choice);
    g->output.parse = true;
    g->output.keep_reasoning = choice == 2;
    return f->error->status == 0;
}

/* Parameters that do not change an answer. */
static const char *const harmless[] = { "user",
                                        "store",
                                        "metadata",
                                        "service_tier",
                                        "safety_identifier",
                                        "prompt_cache_key",
                                        "prompt_cache_retention",
                                        "prediction",
                                        "id_slot",
                                        "request_id",
                                        NULL };

static bool parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct chat *c = g->state = generation_alloc(g, sizeof *c);
    json_t *messages = NULL;
    if (c == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    c->answer.object = "chat.completion";
    c->answer.chunk = "chat.completion.chunk";
    fields_init(&f, g->body, "", error);
    fields_value(&f, "messages", &messages);
    refuse_unsupported(&f);
    if (!openai_answer_init(&c->answer, g, &f, "chatcmpl") ||
        !openai_answer_read_stream(&c->answer, g, &f) || !sampling_fields_read(&f, g) ||
        !openai_read_max_tokens(g, &f, false, -1) || !template_fields_read(&f, g) ||
        !chat_messages_read(g, &g->requests[0], messages, "messages", error) ||
        !template_fields_read_ending(&f, g) || !tool_fields_read(&f, g, TOOLS_OPENAI) ||
        !tool_fields_read_choice(&f, g, TOOLS_OPENAI) || !read_reasoning_format(&f, g))
        return false;
    read_logprobs(&f, g, c);
    return fields_finish(&f, harmless);
}

void chat_completions_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &format, body, body != NULL, parse, &error);
}
