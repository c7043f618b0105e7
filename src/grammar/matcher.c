/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/matcher.h"
#include "base/error.h"
#include "kernels/dispatch.h"
#include <math.h>
#include <string.h>

const struct qr_pair *qr_matcher_state(const struct quire_grammar_matcher *m, size_t *n)
{
    const size_t begin = m->n > 0 ? m->ends[m->n - 1] : 0;
    *n = m->ends[m->n] - begin;
    return m->pairs + begin;
}

quire_status qr_matcher_status(const struct quire_grammar_matcher *m, quire_status status)
{
    return status == QUIRE_E_NOMEM ? qr_limited_memory_failure(&m->grammar->memory) : status;
}

quire_status qr_matcher_fail(const struct quire_grammar_matcher *m, quire_status status,
                             struct quire_error *err)
{
    if (status == QUIRE_E_LIMIT)
        return qr_fail(err, status, "the automaton of the grammar needs more than %llu bytes",
                       (unsigned long long)m->grammar->memory.limit_bytes);
    return qr_fail(err, status, "no memory for the grammar");
}

/* Makes the pairs state number m->n. */
static bool put_state(struct quire_grammar_matcher *m, const struct qr_pair *pairs, size_t n)
{
    const struct quire_allocator *a = m->grammar->a;
    const size_t begin = m->n > 0 ? m->ends[m->n - 1] : 0;
    if (!qr_grow(a, (void **)&m->pairs, &m->pairs_capacity, begin + n + 1, sizeof *m->pairs) ||
        !qr_grow(a, (void **)&m->ends, &m->ends_capacity, m->n + 1, sizeof *m->ends))
        return false;
    memcpy(m->pairs + begin, pairs, n * sizeof *pairs);
    m->ends[m->n] = begin + n;
    return true;
}

/* Creates a matcher in a state. */
static quire_status create(struct quire_grammar *grammar, const struct qr_pair *pairs, size_t n,
                           struct quire_grammar_matcher **out, struct quire_error *err)
{
    struct quire_grammar_matcher *m = qr_calloc(grammar->a, 1, sizeof *m);
    if (m != NULL) {
        m->handle.kind = QR_KIND_GRAMMAR_MATCHER;
        m->grammar = grammar;
        qr_cursor_init(&m->cursor, grammar->automaton, grammar->vocab->tok);
    }
    if (m == NULL || !put_state(m, pairs, n)) {
        quire_grammar_matcher_destroy(m);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the matcher");
    }
    *out = m;
    return QUIRE_OK;
}

quire_status quire_grammar_matcher_create(struct quire_grammar *grammar,
                                          struct quire_grammar_matcher **out,
                                          struct quire_error *err)
{
    if (out == NULL)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(grammar, QR_KIND_GRAMMAR, "grammar", err));
    qr_grammar_lock(&grammar->lock);
    const struct qr_pair start = qr_automaton_start(grammar->automaton);
    qr_grammar_unlock(&grammar->lock);
    return create(grammar, &start, 1, out, err);
}

quire_status quire_grammar_matcher_clone(const struct quire_grammar_matcher *matcher,
                                         struct quire_grammar_matcher **out,
                                         struct quire_error *err)
{
    size_t n;
    if (out == NULL)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(matcher, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    const struct qr_pair *pairs = qr_matcher_state(matcher, &n);
    QR_TRY(create(matcher->grammar, pairs, n, out, err));
    (*out)->committed = matcher->committed;
    return QUIRE_OK;
}

void quire_grammar_matcher_destroy(struct quire_grammar_matcher *m)
{
    if (!qr_handle_end(m, QR_KIND_GRAMMAR_MATCHER))
        return;
    const struct quire_allocator *a = m->grammar->a;
    qr_cursor_free(&m->cursor);
    qr_free(a, m->pairs, m->pairs_capacity, sizeof *m->pairs);
    qr_free(a, m->ends, m->ends_capacity, sizeof *m->ends);
    qr_free(a, m, 1, sizeof *m);
}

/* ---- Masks ---- */

quire_status quire_grammar_matcher_mask(struct quire_grammar_matcher *m, uint32_t *mask,
                                        size_t n_words, struct quire_error *err)
{
    QR_TRY(qr_handle_check(m, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    if (mask == NULL)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "mask is NULL");
    if (n_words != m->grammar->vocab->n_words)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_words = %zu: a mask has %zu words", n_words,
                       m->grammar->vocab->n_words);
    size_t n;
    const struct qr_pair *pairs = qr_matcher_state(m, &n);
    qr_grammar_lock_mask(&m->grammar->lock);
    const quire_status status =
        qr_matcher_status(m, qr_masks_compute(m->grammar->masks, pairs, n, mask));
    qr_grammar_unlock_mask(&m->grammar->lock);
    if (status != QUIRE_OK)
        return qr_matcher_fail(m, status, err);
    for (size_t i = 0; i < n_words; i++)
        if (mask[i] != 0)
            return QUIRE_OK;
    return qr_fail(err, QUIRE_E_MISMATCH,
                   "the vocabulary has no token for what the grammar requires after %llu tokens",
                   (unsigned long long)m->committed);
}

void qr_mask_apply(const struct qr_kernels *k, const uint32_t *mask, size_t n_words, float *logits,
                   size_t n_logits)
{
    const size_t n = n_logits / 32 < n_words ? n_logits : 32 * n_words;
    k->mask_logits(logits, mask, n);
    for (size_t i = n; i < n_logits; i++)
        logits[i] = -INFINITY;
}

void quire_grammar_apply_mask(const uint32_t *mask, size_t n_words, float *logits, size_t n_logits)
{
    if (mask != NULL && logits != NULL)
        qr_mask_apply(qr_kernels_any(), mask, n_words, logits, n_logits);
}

/* ---- Tokens ---- */

/* Moves the cursor on by tokens until one is not allowed, and keeps the states if `keep`. *done:
 * tokens that were allowed. */
static quire_status follow(struct quire_grammar_matcher *m, const int32_t *tokens, size_t n_tokens,
                           bool keep, size_t *done)
{
    size_t n;
    const struct qr_pair *pairs = qr_matcher_state(m, &n);
    *done = 0;
    QR_TRY(qr_matcher_status(m, qr_cursor_set(&m->cursor, pairs, n)));
    while (*done < n_tokens) {
        QR_TRY(qr_matcher_status(m, qr_cursor_token(&m->cursor, tokens[*done])));
        if (m->cursor.n == 0)
            return QUIRE_OK;
        if (keep) {
            m->n++;
            if (!put_state(m, m->cursor.pairs, m->cursor.n)) {
                m->n--;
                return QUIRE_E_NOMEM;
            }
        }
        ++*done;
    }
    return QUIRE_OK;
}

quire_status quire_grammar_matcher_commit(struct quire_grammar_matcher *m, const int32_t *tokens,
                                          size_t n_tokens, struct quire_error *err)
{
    size_t done;
    QR_TRY(qr_handle_check(m, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    if (tokens == NULL && n_tokens > 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tokens is NULL");
    for (size_t i = 0; i < n_tokens; i++)
        if (tokens[i] < 0 || (size_t)tokens[i] >= m->grammar->vocab->n_tokens)
            return qr_fail(err, QUIRE_E_RANGE, "tokens[%zu] = %d: the vocabulary has %zu tokens", i,
                           (int)tokens[i], m->grammar->vocab->n_tokens);
    const size_t before = m->n;
    qr_grammar_lock(&m->grammar->lock);
    const quire_status status = follow(m, tokens, n_tokens, true, &done);
    qr_grammar_unlock(&m->grammar->lock);
    if (status == QUIRE_OK && done == n_tokens) {
        m->committed += n_tokens;
        return QUIRE_OK;
    }
    m->n = before;
    if (status != QUIRE_OK)
        return qr_matcher_fail(m, status, err);
    return qr_fail(err, QUIRE_E_MISMATCH,
                   "tokens[%zu] = %d is not allowed by the grammar after %llu tokens", done,
                   (int)tokens[done], (unsigned long long)(m->committed + done));
}

size_t quire_grammar_matcher_check(struct quire_grammar_matcher *m, const int32_t *tokens,
                                   size_t n_tokens)
{
    size_t n = 0, done = 0;
    if (!qr_handle_is(m, QR_KIND_GRAMMAR_MATCHER) || tokens == NULL)
        return 0;
    while (n < n_tokens && tokens[n] >= 0 && (size_t)tokens[n] < m->grammar->vocab->n_tokens)
        n++;
    qr_grammar_lock(&m->grammar->lock);
    const quire_status status = follow(m, tokens, n, false, &done);
    qr_grammar_unlock(&m->grammar->lock);
    return status == QUIRE_OK ? done : 0;
}

quire_status quire_grammar_matcher_rollback(struct quire_grammar_matcher *m, size_t n_tokens,
                                            struct quire_error *err)
{
    QR_TRY(qr_handle_check(m, QR_KIND_GRAMMAR_MATCHER, "matcher", err));
    if (n_tokens > m->n)
        return qr_fail(err, QUIRE_E_RANGE, "n_tokens = %zu: the history has %zu tokens", n_tokens,
                       m->n);
    m->n -= n_tokens;
    m->committed -= n_tokens;
    return QUIRE_OK;
}

void quire_grammar_matcher_trim(struct quire_grammar_matcher *m, size_t n_tokens)
{
    if (!qr_handle_is(m, QR_KIND_GRAMMAR_MATCHER) || n_tokens >= m->n)
        return;
    const size_t drop = m->n - n_tokens; /* states before the first one that stays */
    const size_t first = m->ends[drop - 1], end = m->ends[m->n];
    memmove(m->pairs, m->pairs + first, (end - first) * sizeof *m->pairs);
    for (size_t i = drop; i <= m->n; i++)
        m->ends[i - drop] = m->ends[i] - first;
    m->n = n_tokens;
}

/* ---- The end ---- */

bool quire_grammar_matcher_can_end(const struct quire_grammar_matcher *m)
{
    size_t n;
    if (!qr_handle_is(m, QR_KIND_GRAMMAR_MATCHER))
        return false;
    const struct qr_pair *pairs = qr_matcher_state(m, &n);
    qr_grammar_lock(&m->grammar->lock);
    const bool accepts = qr_automaton_accepts(m->grammar->automaton, pairs, n);
    qr_grammar_unlock(&m->grammar->lock);
    return accepts;
}

bool quire_grammar_matcher_must_end(struct quire_grammar_matcher *m)
{
    size_t n;
    if (!qr_handle_is(m, QR_KIND_GRAMMAR_MATCHER))
        return false;
    const struct qr_pair *pairs = qr_matcher_state(m, &n);
    const struct qr_automaton *a = m->grammar->automaton;
    qr_grammar_lock(&m->grammar->lock);
    bool must = qr_automaton_accepts(a, pairs, n);
    for (size_t i = 0; i < n; i++)
        must = must && (pairs[i].lex & ~QR_LEX_FRESH) == QR_LEX_DEAD &&
               !a->rows[pairs[i].row].has_tokens;
    qr_grammar_unlock(&m->grammar->lock);
    return must;
}
