/* SPDX-License-Identifier: Apache-2.0 */
/* pair_prompt.c - pairs of texts: joined by the tokenizer's template for pairs, or filled into the
 * template "rerank" of GGUF files. */
#include "engine/pair_prompt.h"
#include "base/alloc.h"
#include "base/error.h"
#include "tokenizer/pair.h"
#include <string.h>

/* A text of which parts are data of the user. */
struct filled {
    char *text; /* NULL: its size is counted only */
    size_t size, n_spans;
    struct quire_text_span spans[QR_PAIR_MAX_SPANS];
};

static bool append(struct filled *f, const char *text, size_t size, bool is_user_text)
{
    if (!size)
        return true;
    if (f->n_spans == QR_PAIR_MAX_SPANS)
        return false;
    f->spans[f->n_spans++] = (struct quire_text_span){ f->size, size, is_user_text };
    if (f->text)
        memcpy(f->text + f->size, text, size);
    f->size += size;
    return true;
}

/* Puts the texts in the places of {query} and {document}. False: too many of them. */
static bool fill(struct filled *f, const char *template, const struct quire_request_params *r)
{
    const struct {
        const char *name, *text;
        size_t size;
    } places[] = { { "{query}", r->text, r->text_size },
                   { "{document}", r->text_pair, r->text_pair_size } };
    f->size = f->n_spans = 0;
    while (*template) {
        const char *at[] = { strstr(template, places[0].name), strstr(template, places[1].name) };
        const int which = !at[0] || (at[1] && at[1] < at[0]);
        const size_t plain = at[which] ? (size_t)(at[which] - template) : strlen(template);
        if (!append(f, template, plain, false))
            return false;
        template += plain;
        if (!at[which])
            break;
        if (!append(f, places[which].text, places[which].size, true))
            return false;
        template += strlen(places[which].name);
    }
    return true;
}

/* Control tokens of the template count, those in the texts are text. */
static quire_status encode_filled(const struct quire_engine *e, const char *template,
                                  const struct quire_request_params *r, struct qr_prompt *p,
                                  struct quire_error *err)
{
    struct filled f = { 0 };
    if (!fill(&f, template, r))
        return qr_fail(err, QUIRE_E_LIMIT, "the template \"rerank\" has more than %d parts",
                       QR_PAIR_MAX_SPANS);
    const size_t size = f.size;
    if (!size)
        return qr_fail(err, QUIRE_E_FORMAT, "the template \"rerank\" is empty");
    f.text = qr_alloc(e->allocator, size, 1);
    if (!f.text)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prompt of %zu bytes", size);
    (void)fill(&f, template, r);
    const quire_status s = qr_prompt_encode_spans(e, f.text, size, f.spans, f.n_spans, p, err);
    qr_free(e->allocator, f.text, size, 1);
    return s;
}

/* Joins the tokens of two texts by the tokenizer's template for pairs, with their types. */
static quire_status join_pair(const struct quire_engine *e, const struct qr_pair_template *t,
                              const struct qr_prompt *a, const struct qr_prompt *b,
                              struct qr_prompt *p, struct quire_error *err)
{
    const size_t first = (size_t)a->n + t->n_ids, n = first + b->n;
    if (n > INT32_MAX)
        return qr_fail(err, QUIRE_E_LIMIT, "the pair has more than 2^31 tokens");
    p->n = p->capacity = (uint32_t)n;
    p->tokens = qr_alloc(e->allocator, n, sizeof *p->tokens);
    p->type_ids = qr_alloc(e->allocator, n, sizeof *p->type_ids);
    if (!p->tokens || !p->type_ids) {
        qr_prompt_free(e, p);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a pair of %zu tokens", n);
    }
    memcpy(p->tokens, a->tokens, a->n * sizeof *p->tokens);
    memcpy(p->tokens + a->n, t->ids, t->n_ids * sizeof *p->tokens);
    memcpy(p->tokens + first, b->tokens, b->n * sizeof *p->tokens);
    /* a model may have fewer types than its tokenizer */
    const int32_t second = t->second_type < (int32_t)e->n_token_types ? t->second_type : 0;
    for (size_t i = 0; i < n; i++)
        p->type_ids[i] = i < first ? 0 : second;
    return QUIRE_OK;
}

quire_status qr_pair_prompt_encode(const struct quire_engine *e,
                                   const struct quire_request_params *r, struct qr_prompt *p,
                                   struct quire_error *err)
{
    const char *template = quire_tokenizer_chat_template(e->tokenizer, "rerank");
    struct qr_pair_template t;
    struct qr_prompt a = { 0 }, b = { 0 };
    if (template)
        return encode_filled(e, template, r, p, err);
    if (!qr_tokenizer_pair(e->tokenizer, &t))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "text_pair: the tokenizer has no template for pairs of texts");
    const uint32_t flags = r->text_flags & QUIRE_ENCODE_PARSE_SPECIAL;
    const uint32_t begin = r->text_flags & QUIRE_ENCODE_ADD_BOS,
                   end = begin ? QUIRE_ENCODE_ADD_EOS : r->text_flags & QUIRE_ENCODE_ADD_EOS;
    quire_status s = qr_prompt_encode_text(e, r->text, r->text_size, flags | begin, &a, err);
    if (s == QUIRE_OK)
        s = qr_prompt_encode_text(e, r->text_pair, r->text_pair_size, flags | end, &b, err);
    if (s == QUIRE_OK)
        s = join_pair(e, &t, &a, &b, p, err);
    qr_prompt_free(e, &a);
    qr_prompt_free(e, &b);
    return s;
}
