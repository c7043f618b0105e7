/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/lexer.h"
#include "grammar/regex/derivative.h"
#include "grammar/regex/emptiness.h"
#include "grammar/regex/plain_run.h"
#include <string.h>

/* Derivatives that a search for dead ends looks at before it takes the state for alive. */
enum { MAX_SEARCH = 4000 };

/* One lexeme of a state, with the rest that must follow. */
struct entry {
    uint32_t lexeme;
    qr_regex rest;
};

struct state {
    uint32_t entries, n_entries; /* in lexer->entries, by ascending lexeme */
    uint32_t accepts, n_accepts; /* in lexer->accepts */
};

struct qr_lexer {
    struct qr_regex_set *set;
    const qr_regex *lexemes;
    uint32_t n_lexemes;
    const struct quire_allocator *a;
    uint8_t class_of[256], representative[256];
    uint32_t n_classes;
    struct state *states; /* [n_states] */
    uint8_t *flags;       /* [n_states] */
    size_t n_states, states_capacity, flags_capacity;
    qr_lex_state *next; /* [n_states][n_classes] */
    size_t next_capacity;
    struct entry *entries;
    size_t n_entries, entries_capacity;
    uint32_t *accepts;
    size_t n_accepts, accepts_capacity;
    uint32_t *index; /* hash table of states, 0 = free: state 0 is not in it */
    size_t index_size;
};

static uint64_t hash_entries(const struct entry *e, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ ((uint64_t)e[i].lexeme << 32 | e[i].rest)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 31;
    }
    return h;
}

/* The slot of the state with the last n entries. */
static size_t find_slot(const struct qr_lexer *l, const struct entry *e, size_t n)
{
    size_t i = hash_entries(e, n) & (l->index_size - 1);
    for (; l->index[i] != 0; i = (i + 1) & (l->index_size - 1)) {
        const struct state *s = &l->states[l->index[i]];
        if (s->n_entries == n && memcmp(l->entries + s->entries, e, n * sizeof *e) == 0)
            break;
    }
    return i;
}

static bool rehash(struct qr_lexer *l)
{
    const size_t size = l->index_size ? 2 * l->index_size : 64;
    uint32_t *index = qr_calloc(l->a, size, sizeof *index);
    if (index == NULL)
        return false;
    qr_free(l->a, l->index, l->index_size, sizeof *index);
    l->index = index;
    l->index_size = size;
    for (size_t i = 1; i < l->n_states; i++) {
        const struct state *s = &l->states[i];
        index[find_slot(l, l->entries + s->entries, s->n_entries)] = (uint32_t)i;
    }
    return true;
}

/* Adds a state of entries that stand behind the others already. */
static quire_status add_state(struct qr_lexer *l, uint32_t n, qr_lex_state *out)
{
    const size_t first = l->n_entries, id = l->n_states;
    if (!qr_grow(l->a, (void **)&l->states, &l->states_capacity, id + 1, sizeof *l->states) ||
        !qr_grow(l->a, (void **)&l->flags, &l->flags_capacity, id + 1, 1) ||
        !qr_grow(l->a, (void **)&l->next, &l->next_capacity, (id + 1) * l->n_classes,
                 sizeof *l->next) ||
        !qr_grow(l->a, (void **)&l->accepts, &l->accepts_capacity, l->n_accepts + n,
                 sizeof *l->accepts) ||
        (2 * (id + 1) > l->index_size && !rehash(l)))
        return QUIRE_E_NOMEM;
    struct state *s = &l->states[id];
    *s = (struct state){ .entries = (uint32_t)first,
                         .n_entries = n,
                         .accepts = (uint32_t)l->n_accepts };
    l->flags[id] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct entry *e = &l->entries[first + i];
        if (qr_regex_nullable(l->set, e->rest))
            l->accepts[l->n_accepts + s->n_accepts++] = e->lexeme;
        l->flags[id] |= e->rest != QR_REGEX_EMPTY ? QR_LEX_CONTINUES : 0;
    }
    l->flags[id] |= s->n_accepts > 0 ? QR_LEX_ACCEPTS : 0;
    for (uint32_t c = 0; c < l->n_classes; c++)
        l->next[id * l->n_classes + c] = n > 0 ? QR_LEX_UNKNOWN : QR_LEX_DEAD;
    if (n > 0)
        l->index[find_slot(l, l->entries + first, n)] = (uint32_t)id;
    l->n_entries += n;
    l->n_accepts += s->n_accepts;
    l->n_states++;
    *out = (qr_lex_state)id;
    return QUIRE_OK;
}

/* The state of n entries behind the others, an existing one if there is one. */
static quire_status intern(struct qr_lexer *l, uint32_t n, qr_lex_state *out)
{
    *out = QR_LEX_DEAD;
    if (n == 0)
        return QUIRE_OK;
    const uint32_t found = l->index[find_slot(l, l->entries + l->n_entries, n)];
    if (found == 0)
        return add_state(l, n, out);
    *out = found;
    return QUIRE_OK;
}

quire_status qr_lexer_new(struct qr_regex_set *set, const qr_regex *lexemes, uint32_t n,
                          const struct quire_allocator *a, struct qr_lexer **out)
{
    struct qr_lexer *l = qr_calloc(a, 1, sizeof *l);
    qr_lex_state dead;
    *out = NULL;
    if (l == NULL)
        return QUIRE_E_NOMEM;
    *l = (struct qr_lexer){ .set = set, .lexemes = lexemes, .n_lexemes = n, .a = a };
    l->n_classes = qr_regex_byte_classes(set, lexemes, n, l->class_of, l->representative);
    quire_status status = qr_regex_set_status(set);
    if (status == QUIRE_OK)
        status = rehash(l) ? add_state(l, 0, &dead) : QUIRE_E_NOMEM;
    if (status != QUIRE_OK) {
        qr_lexer_free(l);
        return status;
    }
    *out = l;
    return QUIRE_OK;
}

void qr_lexer_free(struct qr_lexer *l)
{
    if (l == NULL)
        return;
    const struct quire_allocator *a = l->a;
    qr_free(a, l->states, l->states_capacity, sizeof *l->states);
    qr_free(a, l->flags, l->flags_capacity, 1);
    qr_free(a, l->next, l->next_capacity, sizeof *l->next);
    qr_free(a, l->entries, l->entries_capacity, sizeof *l->entries);
    qr_free(a, l->accepts, l->accepts_capacity, sizeof *l->accepts);
    qr_free(a, l->index, l->index_size, sizeof *l->index);
    qr_free(a, l, 1, sizeof *l);
}

/* Puts an entry behind the others as number n unless its rest matches nothing. A search that is too
 * long takes it for alive. */
static quire_status put_entry(struct qr_lexer *l, uint32_t *n, uint32_t lexeme, qr_regex rest)
{
    bool none = rest == QR_REGEX_NONE;
    if (!none &&
        qr_regex_is_none_among(l->set, rest, l->representative, l->n_classes, MAX_SEARCH, &none) !=
            QUIRE_OK &&
        qr_regex_set_status(l->set) != QUIRE_OK)
        return qr_regex_set_status(l->set);
    if (none)
        return qr_regex_set_status(l->set);
    if (!qr_grow(l->a, (void **)&l->entries, &l->entries_capacity, l->n_entries + *n + 1,
                 sizeof *l->entries))
        return QUIRE_E_NOMEM;
    l->entries[l->n_entries + (*n)++] = (struct entry){ lexeme, rest };
    return QUIRE_OK;
}

quire_status qr_lexer_start(struct qr_lexer *l, const uint32_t *ids, uint32_t n, qr_lex_state *out)
{
    uint32_t count = 0;
    *out = QR_LEX_DEAD;
    for (uint32_t i = 0; i < n; i++) {
        const quire_status status = put_entry(l, &count, ids[i], l->lexemes[ids[i]]);
        if (status != QUIRE_OK)
            return status;
    }
    return intern(l, count, out);
}

struct qr_lex_tables qr_lexer_tables(const struct qr_lexer *l)
{
    return (struct qr_lex_tables){ .next = l->next,
                                   .class_of = l->class_of,
                                   .n_classes = l->n_classes,
                                   .n_states = (uint32_t)l->n_states,
                                   .flags = l->flags };
}

quire_status qr_lexer_step(struct qr_lexer *l, qr_lex_state state, uint8_t byte, qr_lex_state *out)
{
    const size_t slot = (size_t)state * l->n_classes + l->class_of[byte];
    *out = l->next[slot];
    if (*out != QR_LEX_UNKNOWN)
        return QUIRE_OK;
    const struct state s = l->states[state];
    uint32_t n = 0;
    *out = QR_LEX_DEAD;
    for (uint32_t i = 0; i < s.n_entries; i++) {
        const struct entry e = l->entries[s.entries + i];
        const qr_regex rest = qr_regex_derivative(l->set, e.rest, byte);
        const quire_status status = put_entry(l, &n, e.lexeme, rest);
        if (status != QUIRE_OK)
            return status;
    }
    const quire_status status = intern(l, n, out);
    if (status == QUIRE_OK)
        l->next[slot] = *out;
    return status;
}

const uint32_t *qr_lexer_accepts(const struct qr_lexer *l, qr_lex_state state, uint32_t *n)
{
    const struct state *s = &l->states[state];
    *n = s->n_accepts;
    return s->n_accepts ? l->accepts + s->accepts : NULL;
}

uint32_t qr_lexer_plain_run(struct qr_lexer *l, qr_lex_state state)
{
    const struct state s = l->states[state];
    uint32_t longest = 0;
    for (uint32_t i = 0; i < s.n_entries; i++) {
        const uint32_t run = qr_regex_plain_run(l->set, l->entries[s.entries + i].rest);
        longest = run > longest ? run : longest;
    }
    return longest;
}
