/* SPDX-License-Identifier: Apache-2.0 */
/* chat_prompt.c - rendered prompts: text and spans of equal provenance. */
#include "chat_format/chat_prompt.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/handle.h"
#include "jinja/string_builder.h"
#include <string.h>

struct quire_chat_prompt {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    char *text;
    size_t len;
    struct quire_text_span *spans;
    size_t n_spans;
};

/* Finds the runs of equal taint and returns their number. spans may be NULL. */
static size_t find_spans(const struct qr_jinja_sb *output, struct quire_text_span *spans)
{
    size_t n = 0;
    for (size_t from = 0, end; from < output->n; from = end) {
        const bool tainted = output->taint ? output->taint[from] : output->tainted;
        end = output->taint ? from : output->n;
        while (end < output->n && output->taint[end] == tainted)
            end++;
        if (spans)
            spans[n] = (struct quire_text_span){ .offset = from,
                                                 .size = end - from,
                                                 .is_user_text = tainted };
        n++;
    }
    return n;
}

/* Allocated by the host's allocator, because the prompt outlives the arena of the render. */
quire_status qr_chat_prompt_new(const struct quire_allocator *a, const struct qr_jinja_sb *output,
                                struct quire_chat_prompt **out, struct quire_error *err)
{
    struct quire_chat_prompt *p = qr_calloc(a, 1, sizeof *p);
    if (!p)
        return qr_fail(err, QUIRE_E_NOMEM, "chat prompt: out of memory");
    p->handle.kind = QR_KIND_CHAT_PROMPT;
    p->allocator = a;
    p->len = output->n;
    p->n_spans = find_spans(output, NULL);
    p->text = qr_strndup(a, output->p, output->n);
    p->spans = qr_calloc(a, p->n_spans, sizeof *p->spans);
    if (!p->text || !p->spans) {
        quire_chat_prompt_destroy(p);
        return qr_fail(err, QUIRE_E_NOMEM, "chat prompt: out of memory");
    }
    find_spans(output, p->spans);
    *out = p;
    return QUIRE_OK;
}

quire_status qr_chat_prompt_append(struct quire_chat_prompt *prompt, const char *text, size_t size,
                                   struct quire_error *err)
{
    struct quire_chat_prompt *p = prompt;
    const bool extends = p->n_spans && p->spans[p->n_spans - 1].is_user_text;
    const size_t n_spans = p->n_spans + !extends;
    size_t len, bytes;
    if (!size)
        return QUIRE_OK;
    if (!qr_add_size(p->len, size, &len) || !qr_add_size(len, 1, &bytes))
        return qr_fail(err, QUIRE_E_LIMIT, "chat prompt: a text of %zu bytes is added", size);
    char *longer = qr_alloc(p->allocator, bytes, 1);
    struct quire_text_span *spans = qr_alloc(p->allocator, n_spans, sizeof *spans);
    if (!longer || !spans) {
        qr_free(p->allocator, longer, bytes, 1);
        qr_free(p->allocator, spans, n_spans, sizeof *spans);
        return qr_fail(err, QUIRE_E_NOMEM, "chat prompt: out of memory");
    }
    memcpy(longer, p->text, p->len);
    memcpy(longer + p->len, text, size);
    longer[len] = '\0';
    memcpy(spans, p->spans, p->n_spans * sizeof *spans);
    if (extends)
        spans[n_spans - 1].size += size;
    else
        spans[n_spans - 1] = (struct quire_text_span){ p->len, size, true };
    qr_free(p->allocator, p->text, p->len + 1, 1);
    qr_free(p->allocator, p->spans, p->n_spans, sizeof *p->spans);
    p->text = longer;
    p->len = len;
    p->spans = spans;
    p->n_spans = n_spans;
    return QUIRE_OK;
}

const char *quire_chat_prompt_text(const struct quire_chat_prompt *prompt, size_t *len)
{
    if (len)
        *len = qr_handle_is(prompt, QR_KIND_CHAT_PROMPT) ? prompt->len : 0;
    return qr_handle_is(prompt, QR_KIND_CHAT_PROMPT) ? prompt->text : NULL;
}

const struct quire_text_span *quire_chat_prompt_spans(const struct quire_chat_prompt *prompt,
                                                      size_t *n_spans)
{
    if (n_spans)
        *n_spans = qr_handle_is(prompt, QR_KIND_CHAT_PROMPT) ? prompt->n_spans : 0;
    return qr_handle_is(prompt, QR_KIND_CHAT_PROMPT) ? prompt->spans : NULL;
}

void quire_chat_prompt_destroy(struct quire_chat_prompt *prompt)
{
    if (!qr_handle_end(prompt, QR_KIND_CHAT_PROMPT))
        return;
    qr_free(prompt->allocator, prompt->text, prompt->len + 1, 1);
    qr_free(prompt->allocator, prompt->spans, prompt->n_spans, sizeof *prompt->spans);
    qr_free(prompt->allocator, prompt, 1, sizeof *prompt);
}
