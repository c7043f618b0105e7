/* SPDX-License-Identifier: Apache-2.0 */
#include "message_answer.h"
#include "exchange.h"
#include "json_build.h"
#include "loop.h"
#include "server.h"
#include "stop_match.h"
#include <string.h>

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

/* Decodes ids; NULL on failure. Lives as long as the generation. */
static char *decode(struct generation *g, const int32_t *ids, size_t n, size_t *size)
{
    const struct quire_tokenizer *tok = quire_engine_tokenizer(g->model->engine);
    const uint32_t flags = QUIRE_DETOKENIZE_CONTINUES | QUIRE_DETOKENIZE_SPECIAL;
    if (quire_tokenizer_decode(tok, ids, n, flags, NULL, 0, size, NULL) != QUIRE_OK)
        return NULL;
    char *text = generation_alloc(g, *size + 1);
    if (text == NULL || quire_tokenizer_decode(tok, ids, n, flags, text, *size, size, NULL) != 0)
        return NULL;
    return text;
}

/* The stop sequence that ended the answer; NULL: an end-of-generation token did. */
static const char *matched_stop(struct generation *g)
{
    const struct message *m = g->state;
    const struct quire_request_params *r = &g->requests[0];
    const int32_t *ids = (const int32_t *)(const void *)m->tokens.data;
    const size_t n = m->tokens.size / sizeof *ids;
    size_t size;
    if (n == 0 || g->answers[0].reason != QUIRE_FINISH_STOP ||
        quire_tokenizer_is_eog(quire_engine_tokenizer(g->model->engine), ids[n - 1]))
        return NULL;
    const char *text = decode(g, ids, n, &size), *before = decode(g, ids, n - 1, &size);
    return text && before ? stop_completed(before, text, r->stop, r->n_stop) : NULL;
}

static const char *stop_reason(const struct generation *g, const char *stop)
{
    if (g->answers[0].reason == QUIRE_FINISH_LENGTH)
        return "max_tokens";
    if (g->answers[0].has_calls)
        return "tool_use";
    return stop != NULL ? "stop_sequence" : "end_turn";
}

/* The message object without its last members. */
static json_t *message_json(const struct generation *g, json_t *content, const char *reason,
                            const char *stop)
{
    const struct message *m = g->state;
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:s?, s:o}", "id", m->common.id, "type",
                     "message", "role", "assistant", "model", generation_model_name(g), "content",
                     content, "stop_reason", reason, "stop_sequence", stop, "usage",
                     usage_json(g, true));
}

static json_t *content_json(const struct answer *a)
{
    json_t *content = json_array();
    if (a->reasoning.size > 0)
        json_build_append(&content,
                          json_pack("{s:s, s:s%, s:s}", "type", "thinking", "thinking",
                                    a->reasoning.data, a->reasoning.size, "signature", ""));
    if (a->text.size > 0)
        json_build_append(
            &content, json_pack("{s:s, s:s%}", "type", "text", "text", a->text.data, a->text.size));
    for (size_t i = 0; i < a->n_calls; i++)
        json_build_append(&content, json_pack("{s:s, s:s, s:s, s:o}", "type", "tool_use", "id",
                                              a->calls[i].id.data, "name", a->calls[i].name.data,
                                              "input", answer_call_arguments(&a->calls[i])));
    return content;
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
    send(g, "ping", json_pack("{s:s}", "type", "ping"));
}

static void end_block(struct generation *g)
{
    struct message *m = g->state;
    if (m->block != BLOCK_NONE)
        send(g, "content_block_stop",
             json_pack("{s:s, s:i}", "type", "content_block_stop", "index", m->n_blocks - 1));
    m->block = BLOCK_NONE;
}

/* Begins a block; drops the reference to its first state. */
static void begin_block(struct generation *g, enum message_block block, json_t *start)
{
    struct message *m = g->state;
    end_block(g);
    m->block = block;
    send(g, "content_block_start",
         json_pack("{s:s, s:i, s:o}", "type", "content_block_start", "index", (int)m->n_blocks++,
                   "content_block", start));
}

/* Sends a piece of the open block; `type` and `member` as the kind of block has them. */
static void send_delta(struct generation *g, const char *type, const char *member,
                       const struct piece *p)
{
    const struct message *m = g->state;
    if (p->size > 0)
        send(g, "content_block_delta",
             json_pack("{s:s, s:i, s:{s:s, s:s%}}", "type", "content_block_delta", "index",
                       (int)m->n_blocks - 1, "delta", "type", type, member, p->text, p->size));
}

static void stream_text(struct generation *g, const struct piece *p)
{
    const struct message *m = g->state;
    if (p->size > 0 && m->block != BLOCK_TEXT)
        begin_block(g, BLOCK_TEXT, json_pack("{s:s, s:s}", "type", "text", "text", ""));
    send_delta(g, "text_delta", "text", p);
}

static void stream_reasoning(struct generation *g, const struct piece *p)
{
    const struct message *m = g->state;
    if (p->size > 0 && m->block != BLOCK_THINKING)
        begin_block(
            g, BLOCK_THINKING,
            json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking", "", "signature", ""));
    send_delta(g, "thinking_delta", "thinking", p);
}

static void stream_call(struct generation *g, const struct piece *p)
{
    struct message *m = g->state;
    if (p->name != NULL) {
        begin_block(g, BLOCK_TOOL,
                    json_pack("{s:s, s:s%, s:s%, s:{}}", "type", "tool_use", "id", p->id,
                              p->id_size, "name", p->name, p->name_size, "input"));
        m->tool_index = p->tool_index;
    }
    send_delta(g, "input_json_delta", "partial_json", p);
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
    if (ev->n_tokens > 0 && g->requests[0].n_stop > 0)
        text_add(&m->tokens, ev->tokens, ev->n_tokens * sizeof *ev->tokens);
    if (!m->common.stream)
        return;
    begin_message(g);
    for (size_t i = 0; i < answer->n_pieces; i++) {
        const struct piece *p = &answer->pieces[i];
        if (p->kind == PIECE_CALL)
            stream_call(g, p);
        else if (p->kind == PIECE_REASONING)
            stream_reasoning(g, p);
        else
            stream_text(g, p);
    }
}

static void finish_stream(struct generation *g)
{
    const struct message *m = g->state;
    const char *stop = matched_stop(g);
    if (m->n_blocks == 0) /* clients expect a block */
        begin_block(g, BLOCK_TEXT, json_pack("{s:s, s:s}", "type", "text", "text", ""));
    end_block(g);
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
    exchange_reply_json(g->exchange, 200,
                        message_json(g, content_json(&g->answers[0]), stop_reason(g, stop), stop));
}

static void stream_error(struct generation *g, const struct api_error *error)
{
    send(g, "error", api_error_json(error, DIALECT_ANTHROPIC, g->exchange->id));
}

void message_destroy(struct generation *g)
{
    struct message *m = g->state;
    if (m == NULL)
        return;
    json_decref(m->input);
    text_free(&m->tokens);
}

const struct generation_format message_format = {
    .input = "messages",
    .started = started,
    .event = event,
    .finish = finish,
    .stream_error = stream_error,
    .destroy = message_destroy,
};
