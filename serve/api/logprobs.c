/* SPDX-License-Identifier: Apache-2.0 */
#include "logprobs.h"
#include "json_build.h"
#include "text.h"
#include <string.h>

/* Whether a token ends the answer without giving text. */
static bool ends_answer(const struct quire_tokenizer *tokenizer,
                        const struct quire_request_params *request, int32_t token)
{
    for (uint32_t i = 0; i < request->n_stop_tokens; i++)
        if (request->stop_tokens[i] == token)
            return true;
    return quire_tokenizer_is_eog(tokenizer, token);
}

/* Number of tokens of the event that are part of the text: all but the one that ends the answer,
 * which is its last one. n_before: tokens of earlier events; those of an echoed prompt come first,
 * and the same token does not end anything there. */
static size_t text_tokens(const struct quire_tokenizer *tokenizer,
                          const struct quire_request_params *request, const struct quire_event *ev,
                          size_t n_before)
{
    const size_t n = ev->logprobs ? ev->n_tokens : 0;
    const size_t n_echoed = request->flags & QUIRE_REQUEST_ECHO ? ev->usage->prompt_tokens : 0;
    if (n == 0 || n_before + n <= n_echoed)
        return n;
    return ends_answer(tokenizer, request, ev->tokens[n - 1]) ? n - 1 : n;
}

static json_t *token_string(const struct quire_tokenizer *tokenizer, int32_t token)
{
    size_t size;
    const char *bytes = quire_tokenizer_token_bytes(tokenizer, token, &size);
    if (bytes == NULL) /* rows of logits without text */
        return json_sprintf("token_id:%d", (int)token);
    /* NUL: it cannot be in the name of a member */
    if (memchr(bytes, '\0', size) == NULL && json_build_is_utf8(bytes, size))
        return json_stringn(bytes, size);
    json_t *string = NULL;
    struct text escaped = { 0 };
    text_add_string(&escaped, "bytes:");
    for (size_t i = 0; i < size; i++)
        text_format(&escaped, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
    if (!escaped.failed)
        string = json_stringn(escaped.data, escaped.size);
    text_free(&escaped);
    return string;
}

static json_t *token_bytes(const struct quire_tokenizer *tokenizer, int32_t token)
{
    size_t size;
    const char *bytes = quire_tokenizer_token_bytes(tokenizer, token, &size);
    json_t *list = json_array();
    for (size_t i = 0; bytes != NULL && i < size; i++)
        json_build_append(&list, json_integer((unsigned char)bytes[i]));
    return list;
}

static json_t *chat_entry(const struct quire_tokenizer *tokenizer,
                          const struct quire_token_logprob *p)
{
    return json_pack("{s:o, s:o, s:o}", "token", token_string(tokenizer, p->token), "logprob",
                     json_build_logprob(p->logprob), "bytes", token_bytes(tokenizer, p->token));
}

json_t *logprobs_chat(const struct quire_tokenizer *tokenizer,
                      const struct quire_request_params *request, const struct quire_event *ev)
{
    const size_t n = text_tokens(tokenizer, request, ev, 0);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct quire_token_logprob *row = &ev->logprobs[i * ev->n_logprobs];
        json_t *entry = chat_entry(tokenizer, row), *top = json_array();
        for (uint32_t k = 1; k < ev->n_logprobs; k++)
            if (row[k].token >= 0)
                json_build_append(&top, chat_entry(tokenizer, &row[k]));
        json_build_set(&entry, "top_logprobs", top);
        json_build_append(&list, entry);
    }
    return list;
}

/* ---- Completions */

void logprobs_position_free(struct logprobs_position *p)
{
    quire_detokenizer_destroy(p->detokenizer);
    p->detokenizer = NULL;
}

static bool begin_position(const struct quire_tokenizer *tokenizer,
                           const struct quire_request_params *request, struct logprobs_position *p)
{
    const bool special = request->flags & QUIRE_REQUEST_SHOW_SPECIAL,
               echo = request->flags & QUIRE_REQUEST_ECHO;
    const uint32_t flags =
        (special ? QUIRE_DETOKENIZE_SPECIAL : 0u) | (echo ? 0u : QUIRE_DETOKENIZE_CONTINUES);
    return p->detokenizer != NULL ||
           quire_detokenizer_create(tokenizer, flags, &p->detokenizer, NULL) == QUIRE_OK;
}

static void advance_position(struct logprobs_position *p, int32_t token)
{
    const char *text;
    size_t size;
    if (quire_detokenizer_push(p->detokenizer, token, &text, &size, NULL) != QUIRE_OK)
        return; /* no text */
    for (size_t i = 0; i < size; i++)
        p->characters += ((unsigned char)text[i] & 0xc0) != 0x80;
}

/* The most likely tokens and the token itself. Two tokens may have the same text: the more likely
 * one is kept. */
static json_t *top_object(const struct quire_tokenizer *tokenizer,
                          const struct quire_token_logprob *row, uint32_t n)
{
    if (row[0].logprob != row[0].logprob) /* NaN: the first token follows nothing */
        return json_null();
    json_t *top = json_object();
    for (uint32_t k = 1; k <= n; k++) {
        const struct quire_token_logprob *p = &row[k < n ? k : 0]; /* the token itself is last */
        if (p->token < 0)
            continue;
        json_t *name = token_string(tokenizer, p->token);
        if (name == NULL) {
            json_decref(top);
            return NULL;
        }
        if (json_object_get(top, json_string_value(name)) == NULL)
            json_build_set(&top, json_string_value(name), json_build_logprob(p->logprob));
        json_decref(name);
    }
    return top;
}

json_t *logprobs_completion(const struct quire_tokenizer *tokenizer,
                            const struct quire_request_params *request,
                            const struct quire_event *ev, struct logprobs_position *position)
{
    const size_t n = text_tokens(tokenizer, request, ev, position->tokens);
    if (!begin_position(tokenizer, request, position))
        return NULL;
    json_t *tokens = json_array(), *values = json_array(), *top = json_array(),
           *offsets = json_array();
    position->tokens += n;
    for (size_t i = 0; i < n; i++) {
        const struct quire_token_logprob *row = &ev->logprobs[i * ev->n_logprobs];
        json_build_append(&tokens, token_string(tokenizer, row->token));
        json_build_append(&values, json_build_logprob(row->logprob));
        json_build_append(&top, top_object(tokenizer, row, ev->n_logprobs));
        json_build_append(&offsets, json_integer((json_int_t)position->characters));
        advance_position(position, row->token);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", values,
                     "top_logprobs", top, "text_offset", offsets);
}

bool logprobs_extend(json_t **all, json_t *more)
{
    const char *name;
    json_t *list;
    bool ok = more != NULL;
    if (*all == NULL) {
        *all = more;
        return ok;
    }
    if (json_is_array(more))
        ok = json_array_extend(*all, more) == 0;
    json_object_foreach(more, name, list)
    { /* none in an array */
        ok = ok && json_array_extend(json_object_get(*all, name), list) == 0;
    }
    json_decref(more);
    return ok;
}
