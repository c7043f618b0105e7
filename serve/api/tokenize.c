/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenize.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "generation.h"
#include "json_build.h"
#include "openai_answer.h"
#include "template_fields.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request for tokens, text or a prompt; the answer is written on the thread. */
struct tokenize {
    struct openai_answer answer;
    const char *text; /* NULL: messages */
    size_t size;
    uint32_t flags; /* QUIRE_ENCODE_* */
    bool add_generation_prompt;
    bool with_pieces, with_strings;
    int32_t *tokens; /* of detokenize */
    size_t n_tokens;
    struct text out;
};

static void finish(struct generation *g)
{
    struct tokenize *t = g->state;
    text_add_string(&t->out, "\n");
    if (t->out.failed)
        exchange_reply_json(g->exchange, 200, NULL);
    else
        exchange_reply(g->exchange, 200, "application/json", t->out.data, t->out.size);
}

static void destroy(struct generation *g)
{
    struct tokenize *t = g->state;
    if (t != NULL)
        text_free(&t->out);
}

/* ---- Tokenize */

/* The bytes as a string, or as an array of numbers if they are no UTF-8. */
static void write_piece(struct text *out, const char *bytes, size_t size)
{
    if (json_build_is_utf8(bytes, size)) {
        json_build_write(out, json_stringn(bytes ? bytes : "", size));
        return;
    }
    for (size_t i = 0; i < size; i++)
        text_format(out, "%s%u", i ? "," : "[", (unsigned)(unsigned char)bytes[i]);
    text_add_string(out, "]");
}

static void write_tokens(struct generation *g, const int32_t *ids, size_t n)
{
    struct tokenize *t = g->state;
    const struct quire_tokenizer *tokenizer = quire_engine_tokenizer(g->model->engine);
    struct text *out = &t->out;
    size_t size;
    text_format(out, "{\"count\":%zu,\"max_model_len\":%u,\"tokens\":[", n,
                (unsigned)g->model->info.context_length);
    for (size_t i = 0; i < n; i++) {
        const char *bytes = quire_tokenizer_token_bytes(tokenizer, ids[i], &size);
        text_format(out, t->with_pieces ? "%s{\"id\":%d,\"piece\":" : "%s%d", i ? "," : "",
                    (int)ids[i]);
        if (t->with_pieces) {
            write_piece(out, bytes, size);
            text_add_string(out, "}");
        }
    }
    text_add_string(out, t->with_strings ? "],\"token_strs\":[" : "],\"token_strs\":null");
    for (size_t i = 0; t->with_strings && i < n; i++) {
        const char *stored = quire_tokenizer_token_text(tokenizer, ids[i], &size);
        text_add_string(out, i ? "," : "");
        write_piece(out, stored, size);
    }
    text_add_string(out, t->with_strings ? "]}" : "}");
}

/* Encodes the text, or else the rendered prompt. */
static quire_status encode_into(const struct generation *g, const struct quire_chat_prompt *prompt,
                                int32_t *ids, size_t capacity, size_t *n, struct quire_error *err)
{
    const struct tokenize *t = g->state;
    const struct quire_engine *engine = g->model->engine;
    if (prompt != NULL)
        return quire_engine_encode_prompt(engine, prompt, ids, capacity, n, err);
    return quire_tokenizer_encode(quire_engine_tokenizer(engine), t->text, t->size, t->flags, ids,
                                  capacity, n, err);
}

static bool encode(struct generation *g, const struct quire_chat_prompt *prompt,
                   struct api_error *error)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t n = 0;
    quire_status s = encode_into(g, prompt, NULL, 0, &n, &err);
    int32_t *ids = s == QUIRE_OK ? calloc(n + 1, sizeof *ids) : NULL;
    if (s == QUIRE_OK)
        s = ids ? encode_into(g, prompt, ids, n + 1, &n, &err) : QUIRE_E_NOMEM;
    if (s == QUIRE_OK)
        write_tokens(g, ids, n);
    else
        api_fail_status(error, s, &err);
    free(ids);
    return error->status == 0;
}

/* NULL: *error. */
static struct quire_chat_prompt *render(struct generation *g, struct api_error *error)
{
    const struct tokenize *t = g->state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt;
    const quire_status s = quire_engine_render_prompt(g->model->engine, &g->requests[0],
                                                      t->add_generation_prompt, &prompt, &err);
    if (s != QUIRE_OK)
        generation_engine_error(g, 0, s, &err, error);
    return prompt;
}

static bool tokenize_work(struct generation *g, struct api_error *error)
{
    const struct tokenize *t = g->state;
    struct quire_chat_prompt *prompt = t->text == NULL ? render(g, error) : NULL;
    const bool ok = error->status == 0 && encode(g, prompt, error);
    quire_chat_prompt_destroy(prompt);
    return ok;
}

static const struct generation_format tokenize_format = {
    .input = "messages", .work = tokenize_work, .finish = finish, .destroy = destroy
};

/* messages, tools and the other parameters of a rendering. */
static bool read_messages(struct fields *f, struct generation *g, struct tokenize *t)
{
    struct quire_request_params *r = &g->requests[0];
    json_t *messages = NULL, *tools = NULL;
    fields_value(f, "messages", &messages);
    fields_unsupported(f, "add_special_tokens", json_false()); /* of vLLM: the template has them */
    if (fields_array(f, "tools", 1024, &tools) && json_array_size(tools) > 0)
        r->tools_json = template_fields_dump(g, tools, f->error);
    if (!template_fields_read(f, g) || !chat_messages_read(g, r, messages, "messages", f->error))
        return false;
    const bool of_assistant = strcmp(r->messages[r->n_messages - 1].role, "assistant") == 0;
    bool go_on = false;
    t->add_generation_prompt = true;
    fields_boolean(f, "add_generation_prompt", &t->add_generation_prompt);
    if (fields_boolean(f, "continue_final_message", &go_on) && go_on != of_assistant)
        fields_fail(f, "continue_final_message",
                    "continue_final_message must be true if the last message is of the assistant, "
                    "and false if not.");
    t->add_generation_prompt |= go_on;
    return f->error->status == 0;
}

/* llama.cpp's server has content, add_special and parse_special; vLLM's has prompt and
 * add_special_tokens. */
static bool read_text(struct fields *f, struct tokenize *t, const char *name)
{
    bool add_special = strcmp(name, "prompt") == 0, parse_special = true;
    json_t *text = NULL;
    fields_value(f, name, &text);
    if (!json_is_string(text)) /* not fields_string(): the text may have NULs */
        return api_fail(f->error, 400, "invalid_type", name, "%s must be a string.", name);
    t->text = json_string_value(text);
    t->size = json_string_length(text);
    fields_boolean(f, "add_special", &add_special);
    fields_boolean(f, "add_special_tokens", &add_special);
    fields_boolean(f, "parse_special", &parse_special);
    t->flags = (add_special ? QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS : 0u) |
               (parse_special ? QUIRE_ENCODE_PARSE_SPECIAL : 0u);
    return f->error->status == 0;
}

/* Begins parsing: state, model and fields. */
static struct tokenize *begin(struct generation *g, struct fields *f, struct api_error *error)
{
    struct tokenize *t = g->state = generation_alloc(g, sizeof *t);
    if (t == NULL)
        api_fail(error, 500, NULL, NULL, "out of memory");
    else if (fields_init(f, g->body, "", error))
        openai_answer_init(&t->answer, g, f, "tok");
    return error->status == 0 ? t : NULL;
}

static bool tokenize_parse(struct generation *g, struct api_error *error)
{
    static const char *const names[] = { "content", "prompt", "messages" };
    struct fields f;
    struct tokenize *t = begin(g, &f, error);
    unsigned found = 0, which = 0;
    if (t == NULL)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        const json_t *v = json_object_get(g->body, names[i]);
        found += v != NULL && !json_is_null(v);
        which = v != NULL && !json_is_null(v) ? i : which;
    }
    if (found != 1)
        return api_fail(error, 400, NULL, "content",
                        "Exactly one of content, prompt and messages must be given.");
    fields_boolean(&f, "with_pieces", &t->with_pieces);
    fields_boolean(&f, "return_token_strs", &t->with_strings);
    return (which == 2 ? read_messages(&f, g, t) : read_text(&f, t, names[which])) &&
           fields_finish(&f, NULL);
}

void tokenize_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &tokenize_format, body, body != NULL, tokenize_parse, &error);
}

/* ---- Detokenize */

static bool detokenize_work(struct generation *g, struct api_error *error)
{
    struct tokenize *t = g->state;
    const struct quire_tokenizer *tokenizer = quire_engine_tokenizer(g->model->engine);
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t size = 0;
    quire_status s = quire_tokenizer_decode(tokenizer, t->tokens, t->n_tokens,
                                            QUIRE_DETOKENIZE_SPECIAL, NULL, 0, &size, &err);
    char *text = s == QUIRE_OK ? malloc(size + 1) : NULL;
    if (text != NULL)
        s = quire_tokenizer_decode(tokenizer, t->tokens, t->n_tokens, QUIRE_DETOKENIZE_SPECIAL,
                                   text, size + 1, &size, &err);
    if (s != QUIRE_OK) {
        api_fail_status(error, s, &err);
        snprintf(error->param, sizeof error->param, "tokens");
    } else {
        json_build_write(&t->out,
                         json_pack("{s:s%, s:s%}", "content", text ? text : "", text ? size : 0,
                                   "prompt", text ? text : "", text ? size : 0));
        t->out.failed |= text == NULL;
    }
    free(text);
    return error->status == 0;
}

static const struct generation_format detokenize_format = { .work = detokenize_work,
                                                            .finish = finish,
                                                            .destroy = destroy };

static bool detokenize_parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct tokenize *t = begin(g, &f, error);
    json_t *list = NULL;
    if (t == NULL)
        return false;
    if (!fields_array(&f, "tokens", SIZE_MAX, &list))
        return fields_fail(&f, "tokens", "tokens is missing.");
    t->n_tokens = json_array_size(list);
    t->tokens = generation_alloc(g, (t->n_tokens + 1) * sizeof *t->tokens);
    if (t->tokens == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < t->n_tokens; i++) {
        const json_t *v = json_array_get(list, i);
        char param[64];
        snprintf(param, sizeof param, "tokens[%zu]", i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
            return api_fail(error, 400, json_is_integer(v) ? NULL : "invalid_type", param,
                            "%s must be a token id.", param);
        t->tokens[i] = (int32_t)json_integer_value(v);
    }
    return fields_finish(&f, NULL);
}

void detokenize_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &detokenize_format, body, body != NULL, detokenize_parse, &error);
}

/* ---- Apply the template */

static bool apply_template_work(struct generation *g, struct api_error *error)
{
    struct tokenize *t = g->state;
    struct quire_chat_prompt *prompt = render(g, error);
    size_t size;
    const char *text = quire_chat_prompt_text(prompt, &size);
    if (prompt != NULL)
        json_build_write(&t->out, json_pack("{s:s%}", "prompt", text, size));
    quire_chat_prompt_destroy(prompt);
    return error->status == 0;
}

static const struct generation_format apply_template_format = {
    .input = "messages", .work = apply_template_work, .finish = finish, .destroy = destroy
};

static bool apply_template_parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct tokenize *t = begin(g, &f, error);
    return t != NULL && read_messages(&f, g, t) && fields_finish(&f, NULL);
}

void apply_template_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &apply_template_format, body, body != NULL, apply_template_parse, &error);
}
