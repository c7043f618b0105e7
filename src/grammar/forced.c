/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/forced.h"
#include "base/error.h"
#include <string.h>

enum {
    MAX_FORCED = 4096,   /* bytes of text that are looked at for tokens */
    CONTEXT_TOKENS = 64, /* before them, for the pre-tokenizer */
};

/* ---- Bytes ---- */

/* The only byte that may follow: *n_bytes 1; 0 if there are several or none, or the text may end,
 * or a control token may follow. */
static quire_status forced_byte(struct qr_cursor *c, uint8_t *byte, unsigned *n_bytes)
{
    struct qr_automaton *a = c->automaton;
    bool found = false;
    *n_bytes = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct qr_row *row = &a->rows[c->pairs[i].row];
        const qr_lex_state lex = c->pairs[i].lex & ~QR_LEX_FRESH;
        if ((c->pairs[i].lex & QR_LEX_FRESH) && (row->accepts || row->has_tokens))
            return QUIRE_OK;
        for (unsigned b = 0; b < 256; b++) {
            qr_lex_state next;
            QR_TRY(qr_lexer_step(a->lexer, lex, (uint8_t)b, &next));
            if (next == QR_LEX_DEAD)
                continue;
            if (found && *byte != b)
                return QUIRE_OK;
            found = true;
            *byte = (uint8_t)b;
        }
    }
    *n_bytes = found;
    return QUIRE_OK;
}

/* Appends the forced bytes to bytes[*n .. max). */
static quire_status append_forced(struct quire_grammar_matcher *m, char *bytes, size_t max,
                                  size_t *n)
{
    size_t n_pairs;
    const struct qr_pair *pairs = qr_matcher_state(m, &n_pairs);
    QR_TRY(qr_cursor_set(&m->cursor, pairs, n_pairs));
    while (*n < max) {
        uint8_t byte = 0;
        unsigned found;
        QR_TRY(forced_byte(&m->cursor, &byte, &found));
        if (found == 0)
            return QUIRE_OK;
        QR_TRY(qr_cursor_byte(&m->cursor, byte));
        if (m->cursor.n == 0) /* a lexeme after which nothing can follow */
            return QUIRE_OK;
        bytes[(*n)++] = (char)byte;
    }
    return QUIRE_OK;
}

static quire_status find_forced(struct quire_grammar_matcher *m, char *bytes, size_t max, size_t *n,
                                struct quire_error *err)
{
    qr_grammar_lock(&m->grammar->lock);
    const quire_status status = qr_matcher_status(m, append_forced(m, bytes, max, n));
    qr_grammar_unlock(&m->grammar->lock);
    return status == QUIRE_OK ? QUIRE_OK : qr_matcher_fail(m, status, err);
}

quire_status quire_grammar_matcher_forced_bytes(struct quire_grammar_matcher *m, char *bytes,
                                                size_t max_bytes, size_t *n_bytes,
                                                struct quire_error *err)
{
    QR_TRY(qr_handle_check(m, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    if (n_bytes == NULL || (bytes == NULL && max_bytes > 0))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", n_bytes ? "bytes" : "n_bytes");
    *n_bytes = 0;
    return find_forced(m, bytes, max_bytes, n_bytes, err);
}

/* ---- Tokens ---- */

/* The text of the last tokens before this place, and the forced text behind it. */
struct forced_text {
    char *data;
    size_t before, size, capacity;
    int32_t *ids; /* [n_ids] tokens of the text */
    size_t n_ids, ids_capacity;
};

/* Adds the bytes of the ordinary tokens before this place, from the last control token on. */
static bool add_context(const struct quire_grammar_matcher *m, const int32_t *before,
                        size_t n_before, struct forced_text *t)
{
    const struct quire_tokenizer *tok = m->grammar->vocab->tok;
    size_t from = n_before, size;
    while (from > 0 && n_before - from < CONTEXT_TOKENS && before[from - 1] >= 0 &&
           !quire_tokenizer_is_special(tok, before[from - 1]))
        from--;
    for (size_t i = from; i < n_before; i++) {
        const char *bytes = quire_tokenizer_token_bytes(tok, before[i], &size);
        if (!qr_grow(m->grammar->a, (void **)&t->data, &t->capacity, t->size + size + 1, 1))
            return false;
        memcpy(t->data + t->size, bytes, size);
        t->size += size;
    }
    t->before = t->size;
    return qr_grow(m->grammar->a, (void **)&t->data, &t->capacity, t->size + MAX_FORCED, 1);
}

static quire_status tokenize(const struct quire_grammar_matcher *m, struct forced_text *t,
                             struct quire_error *err)
{
    const struct quire_tokenizer *tok = m->grammar->vocab->tok;
    if (!qr_grow(m->grammar->a, (void **)&t->ids, &t->ids_capacity, t->size + 8, sizeof *t->ids))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    return quire_tokenizer_encode(tok, t->data, t->size, 0, t->ids, t->ids_capacity, &t->n_ids,
                                  err);
}

/* The tokens of the forced text: those behind a boundary of tokens at its beginning, without the
 * last one, which could become a longer one with the text that follows. */
static void select_tokens(const struct quire_grammar_matcher *m, const struct forced_text *t,
                          int32_t *tokens, size_t max_tokens, size_t *n_tokens)
{
    const struct quire_tokenizer *tok = m->grammar->vocab->tok;
    size_t at = 0, all = 0, first = 0, size;
    for (size_t i = 0; i < t->n_ids; i++) {
        quire_tokenizer_token_bytes(tok, t->ids[i], &size);
        all += size;
    }
    /* some tokenizers put a space before a text */
    const size_t before = t->before + (all == t->size + 1);
    while (first < t->n_ids && at < before) {
        quire_tokenizer_token_bytes(tok, t->ids[first++], &size);
        at += size;
    }
    if (at != before) /* the canonical tokens differ from those that were sampled */
        return;
    for (size_t i = first; i + 1 < t->n_ids && *n_tokens < max_tokens; i++)
        tokens[(*n_tokens)++] = t->ids[i];
}

quire_status quire_grammar_matcher_forced_tokens(struct quire_grammar_matcher *m,
                                                 const int32_t *before, size_t n_before,
                                                 int32_t *tokens, size_t max_tokens,
                                                 size_t *n_tokens, struct quire_error *err)
{
    struct forced_text t = { 0 };
    QR_TRY(qr_handle_check(m, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    if (n_tokens == NULL || (tokens == NULL && max_tokens > 0) || (before == NULL && n_before > 0))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL",
                       n_tokens == NULL ? "n_tokens"
                       : tokens == NULL ? "tokens"
                                        : "before");
    *n_tokens = 0;
    quire_status status = QUIRE_OK;
    if (!add_context(m, before, n_before, &t))
        status = qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    if (status == QUIRE_OK)
        status = find_forced(m, t.data, t.before + MAX_FORCED, &t.size, err);
    if (status == QUIRE_OK && t.size > t.before)
        status = tokenize(m, &t, err);
    if (status == QUIRE_OK && t.size > t.before)
        select_tokens(m, &t, tokens, max_tokens, n_tokens);
    /* never more than the grammar accepts, whatever the tokenizer does to the text */
    if (*n_tokens > 0)
        *n_tokens = quire_grammar_matcher_check(m, tokens, *n_tokens);
    qr_free(m->grammar->a, t.data, t.capacity, 1);
    qr_free(m->grammar->a, t.ids, t.ids_capacity, sizeof *t.ids);
    return status;
}
