/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/automaton.h"
#include "base/error.h"
#include "grammar/core/closure.h"
#include <stdlib.h>
#include <string.h>

/* ---- Rows ---- */

static uint64_t hash_items(const struct qr_item *items, size_t n, bool accepts)
{
    uint64_t h = n * 2 + accepts;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ ((uint64_t)items[i].state << 32 | items[i].param)) * 0x9e3779b97f4a7c15u;
        h = (h ^ h >> 29 ^ items[i].origin) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 32;
    }
    return h;
}

static size_t find_row_slot(const struct qr_automaton *m, const struct qr_item *items, size_t n,
                            bool accepts)
{
    size_t i = hash_items(items, n, accepts) & (m->index_size - 1);
    for (; m->index[i] != 0; i = (i + 1) & (m->index_size - 1)) {
        const struct qr_row *r = &m->rows[m->index[i] - 1];
        if (r->n_items == n && r->accepts == accepts &&
            (n == 0 || memcmp(m->items + r->items, items, n * sizeof *items) == 0))
            break;
    }
    return i;
}

static quire_status rehash_rows(struct qr_automaton *m)
{
    const size_t size = m->index_size ? 2 * m->index_size : 256;
    uint32_t *index = qr_calloc(m->a, size, sizeof *index);
    if (index == NULL)
        return QUIRE_E_NOMEM;
    qr_free(m->a, m->index, m->index_size, sizeof *index);
    m->index = index;
    m->index_size = size;
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct qr_row *r = &m->rows[i];
        index[find_row_slot(m, m->items + r->items, r->n_items, r->accepts)] = (uint32_t)i + 1;
    }
    return QUIRE_OK;
}

static int by_number(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* The lexer's state for the lexemes of a row. */
static quire_status set_lexemes(struct qr_automaton *m, struct qr_row *row)
{
    uint32_t n = 0, unique = 0, *ids = qr_alloc(m->a, row->n_items + 1, sizeof *ids);
    if (ids == NULL)
        return QUIRE_E_NOMEM;
    for (uint32_t i = 0; i < row->n_items; i++) {
        const struct qr_net_state *s = &m->net->states[m->items[row->items + i].state];
        row->has_tokens = row->has_tokens || s->kind == QR_NET_TOKEN;
        if (s->kind == QR_NET_LEXEME)
            ids[n++] = s->a;
    }
    qsort(ids, n, sizeof *ids, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (unique == 0 || ids[unique - 1] != ids[i])
            ids[unique++] = ids[i];
    const quire_status status = qr_lexer_start(m->lexer, ids, unique, &row->lex);
    qr_free(m->a, ids, row->n_items + 1, sizeof *ids);
    return status;
}

/* The row of the closure. */
static quire_status intern_row(struct qr_automaton *m, uint32_t *out)
{
    size_t n;
    bool accepts;
    quire_status status = QUIRE_OK;
    const struct qr_item *items = qr_closure_items(m->closure, &n, &accepts);
    if (2 * (m->n_rows + 1) > m->index_size && (status = rehash_rows(m)) != QUIRE_OK)
        return status;
    const size_t slot = find_row_slot(m, items, n, accepts);
    if (m->index[slot] != 0) {
        *out = m->index[slot] - 1;
        return QUIRE_OK;
    }
    if (!qr_grow(m->a, (void **)&m->rows, &m->rows_capacity, m->n_rows + 1, sizeof *m->rows) ||
        !qr_grow(m->a, (void **)&m->items, &m->items_capacity, m->n_items + n, sizeof *m->items))
        return QUIRE_E_NOMEM;
    struct qr_row row = { .items = (uint32_t)m->n_items,
                          .n_items = (uint32_t)n,
                          .accepts = accepts };
    if (n > 0)
        memcpy(m->items + m->n_items, items, n * sizeof *items);
    status = set_lexemes(m, &row);
    if (status != QUIRE_OK)
        return status;
    m->n_items += n;
    *out = (uint32_t)m->n_rows;
    m->rows[m->n_rows++] = row;
    m->index[slot] = *out + 1;
    return QUIRE_OK;
}

/* ---- Memo ---- */

static size_t memo_slot(const struct qr_automaton *m, uint32_t row, uint32_t lex)
{
    uint64_t h = ((uint64_t)row << 32 | lex) * 0x9e3779b97f4a7c15u;
    size_t i = (h ^ h >> 32) & (m->memo_size - 1);
    while (m->memo[i].lex != 0 && (m->memo[i].row != row || m->memo[i].lex != lex))
        i = (i + 1) & (m->memo_size - 1);
    return i;
}

/* Without room the row is computed again. */
static void remember(struct qr_automaton *m, uint32_t row, uint32_t lex, uint32_t result)
{
    if (2 * (m->n_memo + 1) > m->memo_size) {
        const size_t old_size = m->memo_size, size = old_size ? 2 * old_size : 256;
        struct qr_row_memo *old = m->memo, *memo = qr_calloc(m->a, size, sizeof *memo);
        if (memo == NULL)
            return;
        m->memo = memo;
        m->memo_size = size;
        for (size_t i = 0; i < old_size; i++)
            if (old[i].lex != 0)
                memo[memo_slot(m, old[i].row, old[i].lex)] = old[i];
        qr_free(m->a, old, old_size, sizeof *old);
    }
    m->memo[memo_slot(m, row, lex)] =
        (struct qr_row_memo){ .row = row, .lex = lex, .result = result };
    m->n_memo++;
}

/* ---- Steps ---- */

/* Adds what follows from the lexemes that are complete in a pair to the closure. */
static quire_status scan(struct qr_automaton *m, uint32_t row, qr_lex_state lex)
{
    uint32_t n, k = 0;
    const uint32_t *accepts = qr_lexer_accepts(m->lexer, lex, &n);
    quire_status status = QUIRE_OK;
    for (uint32_t i = 0; i < m->rows[row].n_items && status == QUIRE_OK; i++) {
        const struct qr_item item = m->items[m->rows[row].items + i];
        const struct qr_net_state *s = &m->net->states[item.state];
        if (s->kind != QR_NET_LEXEME)
            continue;
        for (k = 0; k < n && accepts[k] < s->a; k++)
            ;
        if (k < n && accepts[k] == s->a)
            status = qr_closure_add(m->closure, s->next, item.param,
                                    item.origin == QR_ORIGIN_SELF ? row : item.origin);
    }
    return status;
}

/* The row after the complete lexemes of several pairs. */
static quire_status advance(struct qr_automaton *m, const struct qr_pair *done, size_t n,
                            uint32_t *out)
{
    if (n == 1 && m->memo_size > 0) {
        const size_t slot = memo_slot(m, done[0].row, done[0].lex);
        if (m->memo[slot].lex != 0) {
            *out = m->memo[slot].result;
            return QUIRE_OK;
        }
    }
    qr_closure_begin(m->closure);
    quire_status status = QUIRE_OK;
    for (size_t i = 0; i < n && status == QUIRE_OK; i++)
        status = scan(m, done[i].row, done[i].lex);
    if (status == QUIRE_OK)
        status = qr_closure_complete(m->closure);
    if (status == QUIRE_OK)
        status = intern_row(m, out);
    if (status == QUIRE_OK && n == 1)
        remember(m, done[0].row, done[0].lex, *out);
    return status;
}

/* Whether nothing can follow in a row and the text cannot end there either. */
static bool is_dead(const struct qr_row *row)
{
    return row->lex == QR_LEX_DEAD && !row->accepts && !row->has_tokens;
}

static quire_status add_row(struct qr_automaton *m, const struct qr_pair *done, size_t n,
                            struct qr_pair *out, size_t *n_out)
{
    uint32_t row;
    const quire_status status = advance(m, done, n, &row);
    if (status == QUIRE_OK && !is_dead(&m->rows[row]))
        out[(*n_out)++] = (struct qr_pair){ m->rows[row].lex | QR_LEX_FRESH, row };
    return status;
}

quire_status qr_automaton_step(struct qr_automaton *m, const struct qr_pair *pairs, size_t n,
                               uint8_t byte, struct qr_pair *out, size_t *n_out)
{
    enum { INLINE = 16 };
    struct qr_pair small[INLINE], *done = small;
    size_t n_done = 0;
    quire_status status = QUIRE_OK;
    *n_out = 0;
    if (n > INLINE && (done = qr_alloc(m->a, n, sizeof *done)) == NULL)
        return QUIRE_E_NOMEM;
    for (size_t i = 0; i < n && status == QUIRE_OK; i++) {
        const uint32_t row = pairs[i].row;
        qr_lex_state next;
        status = qr_lexer_step(m->lexer, pairs[i].lex & ~QR_LEX_FRESH, byte, &next);
        if (status != QUIRE_OK || next == QR_LEX_DEAD)
            continue;
        const uint8_t flags = qr_lexer_tables(m->lexer).flags[next];
        if (flags & QR_LEX_ACCEPTS)
            done[n_done++] = (struct qr_pair){ next, row };
        if (flags & QR_LEX_CONTINUES)
            out[(*n_out)++] = (struct qr_pair){ next, row };
    }
    if (status == QUIRE_OK && n_done > 0)
        status = add_row(m, done, n_done, out, n_out);
    if (done != small)
        qr_free(m->a, done, n, sizeof *done);
    return status;
}

quire_status qr_automaton_token(struct qr_automaton *m, const struct qr_pair *pairs, size_t n,
                                int32_t token, struct qr_pair *out, size_t *n_out)
{
    bool found = false;
    quire_status status = QUIRE_OK;
    *n_out = 0;
    qr_closure_begin(m->closure);
    for (size_t i = 0; i < n; i++) {
        const struct qr_row *row = &m->rows[pairs[i].row];
        if (!(pairs[i].lex & QR_LEX_FRESH) || !row->has_tokens)
            continue;
        for (uint32_t k = 0; k < row->n_items && status == QUIRE_OK; k++) {
            const struct qr_item item = m->items[row->items + k];
            const struct qr_net_state *s = &m->net->states[item.state];
            if (s->kind != QR_NET_TOKEN || s->a != (uint32_t)token)
                continue;
            found = true;
            status = qr_closure_add(m->closure, s->next, item.param,
                                    item.origin == QR_ORIGIN_SELF ? pairs[i].row : item.origin);
        }
    }
    if (!found || status != QUIRE_OK)
        return status;
    uint32_t row;
    status = qr_closure_complete(m->closure);
    if (status == QUIRE_OK)
        status = intern_row(m, &row);
    if (status == QUIRE_OK && !is_dead(&m->rows[row]))
        out[(*n_out)++] = (struct qr_pair){ m->rows[row].lex | QR_LEX_FRESH, row };
    return status;
}

bool qr_automaton_accepts(const struct qr_automaton *m, const struct qr_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((pairs[i].lex & QR_LEX_FRESH) && m->rows[pairs[i].row].accepts)
            return true;
    return false;
}

struct qr_pair qr_automaton_start(const struct qr_automaton *m)
{
    return (struct qr_pair){ m->rows[QR_ROOT_ROW].lex | QR_LEX_FRESH, QR_ROOT_ROW };
}

/* ---- Creation ---- */

static quire_status make_root(struct qr_automaton *m)
{
    uint32_t row;
    qr_closure_begin(m->closure);
    QR_TRY(qr_closure_add(m->closure, m->net->rules[0].start, QR_PARAM_START, QR_ORIGIN_SELF));
    QR_TRY(qr_closure_complete(m->closure));
    if (m->net->rules[0].nullable)
        qr_closure_accept(m->closure);
    return intern_row(m, &row);
}

quire_status qr_automaton_new(struct qr_network *net, struct qr_regex_set *set,
                              const qr_regex *lexemes, uint32_t n_lexemes,
                              const struct quire_allocator *a, struct qr_automaton **out)
{
    struct qr_automaton *m = qr_calloc(a, 1, sizeof *m);
    *out = NULL;
    if (m == NULL) {
        qr_network_free(net);
        return QUIRE_E_NOMEM;
    }
    *m = (struct qr_automaton){ .a = a, .net = net, .lexemes = lexemes, .set = set };
    quire_status status = qr_lexer_new(set, lexemes, n_lexemes, a, &m->lexer);
    if (status == QUIRE_OK)
        status = qr_params_init(&m->params, a);
    if (status == QUIRE_OK)
        status = qr_closure_new(m, &m->closure);
    if (status == QUIRE_OK)
        status = make_root(m);
    if (status != QUIRE_OK) {
        qr_automaton_free(m);
        return status;
    }
    *out = m;
    return QUIRE_OK;
}

void qr_automaton_free(struct qr_automaton *m)
{
    if (m == NULL)
        return;
    const struct quire_allocator *a = m->a;
    qr_closure_free(m->closure);
    qr_params_free(&m->params);
    qr_lexer_free(m->lexer);
    qr_network_free(m->net);
    qr_free(a, m->rows, m->rows_capacity, sizeof *m->rows);
    qr_free(a, m->items, m->items_capacity, sizeof *m->items);
    qr_free(a, m->index, m->index_size, sizeof *m->index);
    qr_free(a, m->memo, m->memo_size, sizeof *m->memo);
    qr_free(a, m, 1, sizeof *m);
}
