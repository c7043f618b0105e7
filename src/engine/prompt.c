/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c - renders, tokenizes and validates prompts: chat messages, text, token ids or parts. */
#include "engine/prompt.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/utf8.h"
#include "chat_format/chat_prompt.h"
#include "engine/pair_prompt.h"
#include "engine/prompt_parts.h"
#include "engine/source.h"
#include "json/json.h"
#include <string.h>

/* ---- Chat template */

/* JSON object of the special tokens under the variable names of Hugging Face templates. */
static char *special_tokens_json(const struct quire_engine *e)
{
    static const struct {
        const char *name;
        enum quire_special_token which;
    } names[] = {
        { "bos_token", QUIRE_SPECIAL_BOS },   { "eos_token", QUIRE_SPECIAL_EOS },
        { "unk_token", QUIRE_SPECIAL_UNK },   { "pad_token", QUIRE_SPECIAL_PAD },
        { "sep_token", QUIRE_SPECIAL_SEP },   { "cls_token", QUIRE_SPECIAL_CLS },
        { "mask_token", QUIRE_SPECIAL_MASK },
    };
    enum { N = sizeof names / sizeof names[0] };
    struct {
        const char *text;
        size_t size;
    } tokens[N];
    size_t bytes = sizeof "{}";
    for (size_t i = 0; i < N; i++) {
        tokens[i].text = quire_tokenizer_token_text(
            e->tokenizer, quire_tokenizer_special(e->tokenizer, names[i].which), &tokens[i].size);
        /* without a well-formed text the variable stays undefined */
        if (tokens[i].text && qr_utf8_valid((const uint8_t *)tokens[i].text, tokens[i].size))
            bytes += strlen(names[i].name) + sizeof "\"\":," + QR_JSON_QUOTED_MAX(tokens[i].size);
        else
            tokens[i].text = NULL;
    }
    char *json = qr_alloc(e->allocator, bytes, 1);
    if (!json)
        return NULL;
    char *p = json;
    *p++ = '{';
    for (size_t i = 0; i < N; i++) {
        if (!tokens[i].text)
            continue;
        if (p != json + 1)
            *p++ = ',';
        p += qr_json_quote(p, names[i].name, strlen(names[i].name));
        *p++ = ':';
        p += qr_json_quote(p, tokens[i].text, tokens[i].size);
    }
    memcpy(p, "}", 2);
    char *copy = qr_strdup(e->allocator, json);
    qr_free(e->allocator, json, bytes, 1);
    return copy;
}

quire_status qr_prompt_open_template(struct quire_engine *e, const char *source,
                                     struct quire_error *err)
{
    const char *builtin = quire_tokenizer_chat_template(e->tokenizer, NULL);
    if (!source && !builtin)
        return QUIRE_OK;
    e->special_tokens_json = special_tokens_json(e);
    if (!e->special_tokens_json)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the chat template");
    struct quire_chat_template_params params = { .struct_size = sizeof params };
    params.allocator = e->allocator;
    if (source)
        return quire_chat_template_create(source, QUIRE_NUL_TERMINATED, &params, &e->chat_template,
                                          err);
    /* without a usable template of its own the model still completes text; chat requests fail with
     * this error */
    e->template_error = (struct quire_error)QUIRE_ERROR_INIT;
    if (!strchr(builtin, '{')) { /* such as a name that only the writer of the file knows */
        qr_fail(&e->template_error, QUIRE_E_UNSUPPORTED, "\"%.64s\" has no place for messages",
                builtin);
        return QUIRE_OK;
    }
    const quire_status s = quire_chat_template_create(builtin, QUIRE_NUL_TERMINATED, &params,
                                                      &e->chat_template, &e->template_error);
    return s == QUIRE_E_NOMEM ? qr_fail(err, s, "%s", e->template_error.msg) : QUIRE_OK;
}

void qr_prompt_close_template(struct quire_engine *e)
{
    quire_chat_template_destroy(e->chat_template);
    qr_strfree(e->allocator, e->special_tokens_json);
}

/* ---- Tokenization */

/* Text to tokenize; spans NULL: all of it has the same flags. */
struct encode_input {
    const char *text;
    size_t size;
    const struct quire_text_span *spans;
    size_t n_spans;
    uint32_t flags;
};

static quire_status encode_into(const struct quire_engine *e, const struct encode_input *in,
                                int32_t *ids, size_t max, size_t *n, struct quire_error *err)
{
    if (in->spans)
        return quire_tokenizer_encode_spans(e->tokenizer, in->text, in->size, in->spans,
                                            in->n_spans, in->flags, ids, max, n, err);
    return quire_tokenizer_encode(e->tokenizer, in->text, in->size, in->flags, ids, max, n, err);
}

void qr_prompt_free(const struct quire_engine *e, struct qr_prompt *p)
{
    qr_free(e->allocator, p->tokens, p->capacity, sizeof *p->tokens);
    qr_free(e->allocator, p->type_ids, p->n, sizeof *p->type_ids);
    qr_free(e->allocator, p->source, p->source_capacity, sizeof *p->source);
    p->tokens = p->type_ids = p->source = NULL;
}

/* Tokenizes into a buffer of estimated size, and again if that fails. Only the second attempt
 * writes err: the estimate being too small is no failure. */
static quire_status encode(const struct quire_engine *e, const struct encode_input *in,
                           struct qr_prompt *p, struct quire_error *err)
{
    size_t capacity = in->size / 2 + 16, n = 0;
    for (int attempt = 0;; attempt++) {
        if (capacity > INT32_MAX)
            return qr_fail(err, QUIRE_E_LIMIT, "the prompt has more than 2^31 tokens");
        p->capacity = (uint32_t)capacity;
        p->tokens = qr_alloc(e->allocator, capacity, sizeof *p->tokens);
        if (!p->tokens)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prompt of %zu bytes", in->size);
        const quire_status status =
            encode_into(e, in, p->tokens, capacity, &n, attempt ? err : NULL);
        if (status == QUIRE_OK)
            break;
        qr_prompt_free(e, p);
        if (attempt)
            return status;
        if (status == QUIRE_E_LIMIT && n > capacity)
            capacity = n;
    }
    p->n = (uint32_t)n;
    return QUIRE_OK;
}

static bool begins_with_bos(const struct quire_engine *e, const char *text, size_t size)
{
    size_t bos_size;
    const char *bos = quire_tokenizer_token_text(
        e->tokenizer, quire_tokenizer_special(e->tokenizer, QUIRE_SPECIAL_BOS), &bos_size);
    return bos && size >= bos_size && memcmp(text, bos, bos_size) == 0;
}

/* The text of a rendered prompt. Most templates write the first token themselves; it must be there
 * once. */
static struct encode_input rendered_input(const struct quire_engine *e,
                                          const struct quire_chat_prompt *rendered)
{
    struct encode_input s = { .flags = QUIRE_ENCODE_PARSE_SPECIAL };
    s.text = quire_chat_prompt_text(rendered, &s.size);
    s.spans = quire_chat_prompt_spans(rendered, &s.n_spans);
    if (!s.n_spans || s.spans[0].is_user_text || !begins_with_bos(e, s.text, s.size))
        s.flags |= QUIRE_ENCODE_ADD_BOS;
    return s;
}

quire_status quire_engine_encode_prompt(const struct quire_engine *engine,
                                        const struct quire_chat_prompt *prompt, int32_t *ids,
                                        size_t ids_max, size_t *n_ids, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_handle_check(prompt, QR_KIND_CHAT_PROMPT, "prompt", err));
    const struct encode_input in = rendered_input(engine, prompt);
    return encode_into(engine, &in, ids, ids_max, n_ids, err);
}

const struct quire_chat_message *qr_prompt_answer(const struct quire_request_params *r)
{
    const struct quire_chat_message *last =
        r->messages && r->n_messages ? &r->messages[r->n_messages - 1] : NULL;
    return last && last->role && strcmp(last->role, "assistant") == 0 ? last : NULL;
}

static quire_status check_template(const struct quire_engine *e, struct quire_error *err)
{
    if (!e->chat_template && e->template_error.code != QUIRE_OK)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "the model's chat template cannot be used: %s",
                       e->template_error.msg);
    if (!e->chat_template)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "the model has no chat template");
    return QUIRE_OK;
}

/* Whether the last message can be continued. */
static quire_status check_answer(const struct quire_request_params *r,
                                 const struct quire_chat_message *answer, struct quire_error *err)
{
    if (answer && r->n_messages == 1)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "messages: an assistant message that begins the conversation cannot be "
                       "continued");
    if (answer && answer->extra_json)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "messages[%zu].extra_json: a last assistant message is continued by its "
                       "content alone",
                       r->n_messages - 1);
    return QUIRE_OK;
}

static quire_status append_answer(struct quire_chat_prompt *prompt,
                                  const struct quire_chat_message *answer, struct quire_error *err)
{
    if (!answer || !answer->content)
        return QUIRE_OK;
    const bool terminated = !answer->content_len || answer->content_len == QUIRE_NUL_TERMINATED;
    const size_t size = terminated ? strlen(answer->content) : answer->content_len;
    return qr_chat_prompt_append(prompt, answer->content, size, err);
}

quire_status qr_prompt_render(const struct quire_engine *e, const struct quire_request_params *r,
                              bool add_generation_prompt, struct quire_chat_prompt **out,
                              struct quire_error *err)
{
    if (!r->messages || !r->n_messages)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       r->messages ? "n_messages is 0" : "messages is NULL");
    QR_TRY(check_template(e, err));
    const struct quire_chat_message *answer = add_generation_prompt ? qr_prompt_answer(r) : NULL;
    QR_TRY(check_answer(r, answer, err));
    struct quire_chat_render_args input = { .struct_size = sizeof input };
    input.messages = r->messages;
    input.n_messages = r->n_messages - (answer != NULL);
    input.special_tokens_json = e->special_tokens_json;
    input.tools_json = r->tools_json;
    input.variables_json = r->variables_json;
    input.add_generation_prompt = add_generation_prompt;
    struct quire_chat_prompt *prompt;
    QR_TRY(quire_chat_template_render(e->chat_template, &input, &prompt, err));
    size_t size;
    (void)quire_chat_prompt_text(prompt, &size);
    const quire_status s =
        size ? append_answer(prompt, answer, err)
             : qr_fail(err, QUIRE_E_INVALID_ARG, "the chat template rendered an empty prompt");
    if (s == QUIRE_OK)
        *out = prompt;
    else
        quire_chat_prompt_destroy(prompt);
    return s;
}

static quire_status encode_messages(const struct quire_engine *e,
                                    const struct quire_request_params *r, struct qr_prompt *p,
                                    struct quire_error *err)
{
    struct quire_chat_prompt *prompt;
    QR_TRY(qr_prompt_render(e, r, true, &prompt, err));
    const struct encode_input in = rendered_input(e, prompt);
    const quire_status s = encode(e, &in, p, err);
    quire_chat_prompt_destroy(prompt);
    return s;
}

static quire_status check_text(size_t size, uint32_t flags, struct quire_error *err)
{
    const uint32_t known = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS | QUIRE_ENCODE_PARSE_SPECIAL;
    if (flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "text_flags 0x%x has unknown bits", flags);
    if (!size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "the prompt is empty: text_size is 0");
    return QUIRE_OK;
}

quire_status qr_prompt_encode_text(const struct quire_engine *e, const char *text, size_t size,
                                   uint32_t flags, struct qr_prompt *p, struct quire_error *err)
{
    QR_TRY(check_text(size, flags, err));
    const struct encode_input s = { .text = text, .size = size, .flags = flags };
    return encode(e, &s, p, err);
}

quire_status qr_prompt_encode_spans(const struct quire_engine *e, const char *text, size_t size,
                                    const struct quire_text_span *spans, size_t n_spans,
                                    struct qr_prompt *p, struct quire_error *err)
{
    const struct encode_input s = { text, size, spans, n_spans, QUIRE_ENCODE_PARSE_SPECIAL };
    return encode(e, &s, p, err);
}

static quire_status encode_text(const struct quire_engine *e, const struct quire_request_params *r,
                                struct qr_prompt *p, struct quire_error *err)
{
    if (r->text_pair) {
        QR_TRY(check_text(r->text_size, r->text_flags, err));
        return qr_pair_prompt_encode(e, r, p, err);
    }
    uint32_t flags = r->text_flags;
    const bool encoded = r->task != QUIRE_TASK_GENERATE || e->max_source_tokens;
    if (encoded && flags & QUIRE_ENCODE_ADD_BOS)
        flags |= QUIRE_ENCODE_ADD_EOS;
    return qr_prompt_encode_text(e, r->text, r->text_size, flags, p, err);
}

static quire_status copy_ids(const struct quire_engine *e, const struct quire_request_params *r,
                             struct qr_prompt *p, struct quire_error *err)
{
    if (!r->n_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "the prompt is empty: n_tokens is 0");
    if (r->n_tokens > INT32_MAX)
        return qr_fail(err, QUIRE_E_LIMIT, "n_tokens %zu is above 2^31 - 1", r->n_tokens);
    p->tokens = qr_alloc(e->allocator, r->n_tokens, sizeof *p->tokens);
    if (!p->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prompt of %zu tokens", r->n_tokens);
    memcpy(p->tokens, r->tokens, r->n_tokens * sizeof *p->tokens);
    p->n = p->capacity = (uint32_t)r->n_tokens;
    if (!r->token_type_ids)
        return QUIRE_OK;
    p->type_ids = qr_alloc(e->allocator, r->n_tokens, sizeof *p->type_ids);
    if (p->type_ids) {
        memcpy(p->type_ids, r->token_type_ids, r->n_tokens * sizeof *p->type_ids);
        return QUIRE_OK;
    }
    qr_prompt_free(e, p);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu token types", r->n_tokens);
}

/* ---- Validation, and capacity for the output */

static quire_status check_tokens(const struct quire_engine *e, const struct quire_request_params *r,
                                 const struct qr_prompt *p, struct quire_error *err)
{
    if (p->n == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "the prompt is empty: its text has no tokens");
    if (p->n > e->info.context_length)
        return qr_fail(err, QUIRE_E_LIMIT, "the prompt has %u tokens, the context is %u", p->n,
                       e->info.context_length);
    if (r->parts)
        return qr_prompt_parts_check_values(e, r, err);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->tokens[i] < 0 || (uint32_t)p->tokens[i] >= e->vocab_size)
            return qr_fail(err, QUIRE_E_RANGE, "token %u of the prompt is %d, the model has %u", i,
                           p->tokens[i], e->vocab_size);
    return QUIRE_OK;
}

/* The longest possible output follows the prompt. Its last token may lie beyond the context: no
 * step computes it. */
static uint32_t capacity_with_output(const struct quire_engine *e, uint32_t n_prompt,
                                     uint32_t max_tokens)
{
    const uint32_t output = e->info.context_length - n_prompt + 1;
    return n_prompt + (max_tokens && max_tokens < output ? max_tokens : output);
}

static quire_status tokenize(const struct quire_engine *e, const struct quire_request_params *r,
                             struct qr_prompt *p, struct quire_error *err)
{
    *p = (struct qr_prompt){ 0 };
    return r->messages ? encode_messages(e, r, p, err)
           : r->text   ? encode_text(e, r, p, err)
           : r->parts  ? qr_prompt_parts_encode(e, r, p, err)
                       : copy_ids(e, r, p, err);
}

quire_status qr_prompt_count(const struct quire_engine *e, const struct quire_request_params *r,
                             size_t *n_tokens, struct quire_error *err)
{
    struct qr_prompt p;
    QR_TRY(tokenize(e, r, &p, err));
    *n_tokens = p.n;
    qr_prompt_free(e, &p);
    return QUIRE_OK;
}

quire_status qr_prompt_create(const struct quire_engine *e, const struct quire_request_params *r,
                              struct qr_prompt *p, struct quire_error *err)
{
    QR_TRY(tokenize(e, r, p, err));
    quire_status s = check_tokens(e, r, p, err);
    if (s == QUIRE_OK && e->max_source_tokens)
        s = qr_source_take(e, p, err);
    if (s != QUIRE_OK)
        qr_prompt_free(e, p);
    else
        p->n_with_output = r->task != QUIRE_TASK_GENERATE || r->flags & QUIRE_REQUEST_PROMPT_ONLY
                               ? p->n
                               : capacity_with_output(e, p->n, r->max_tokens);
    return s;
}

quire_status qr_prompt_check_only(const struct quire_request_params *p, struct quire_error *err)
{
    const char *field = p->max_tokens     ? "max_tokens"
                        : p->min_tokens   ? "min_tokens"
                        : p->n > 1        ? "n"
                        : p->best_of > 1  ? "best_of"
                        : p->draft_tokens ? "draft_tokens"
                                          : NULL;
    if (!(p->flags & QUIRE_REQUEST_PROMPT_ONLY) || !field)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_INVALID_ARG,
                   "%s is given with QUIRE_REQUEST_PROMPT_ONLY, which generates no token", field);
}
