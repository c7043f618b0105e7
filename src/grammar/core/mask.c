/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/mask.h"
#include "base/error.h"
#include "grammar/core/run.h"
#include <string.h>

enum {
    CACHED_MASKS = 48,    /* 16 KiB each with 128k tokens */
    MAX_CACHED_PAIRS = 4, /* states of more pairs are not remembered */
    NODES_PER_YIELD = 512 /* of a trie: about 2 us */
};

struct cached_mask {
    struct qr_pair pairs[MAX_CACHED_PAIRS];
    size_t n; /* 0: free */
    uint64_t last_use;
    uint32_t *mask;
};

/* The state after the first `depth` bytes of a token. */
struct level {
    struct qr_pair one; /* if n is 1 */
    uint32_t at, n;     /* else pairs[at .. at + n); what follows `at` is free if n is 1 */
};

struct qr_masks {
    const struct quire_grammar_vocab *vocab;
    struct qr_automaton *automaton;
    void (*yield)(void *); /* or NULL */
    void *yield_arg;
    uint8_t *covered; /* [covered_capacity] by state of the lexer: slice + 1; 0 unknown */
    size_t covered_capacity;
    struct qr_runs runs;
    struct level *levels; /* [max_bytes + 1] */
    struct qr_pair *pairs;
    size_t pairs_capacity;
    struct cached_mask cache[CACHED_MASKS];
    uint64_t uses;
};

quire_status qr_masks_new(const struct quire_grammar_vocab *vocab, struct qr_automaton *automaton,
                          void (*yield)(void *), void *arg, struct qr_masks **out)
{
    struct qr_masks *m = qr_calloc(automaton->a, 1, sizeof *m);
    *out = m;
    if (m == NULL)
        return QUIRE_E_NOMEM;
    m->vocab = vocab;
    m->automaton = automaton;
    m->yield = yield;
    m->yield_arg = arg;
    qr_runs_init(&m->runs, automaton->lexer, automaton->a);
    m->levels = qr_calloc(automaton->a, vocab->max_bytes + 1, sizeof *m->levels);
    return m->levels != NULL ? QUIRE_OK : QUIRE_E_NOMEM;
}

void qr_masks_free(struct qr_masks *m)
{
    if (m == NULL)
        return;
    const struct quire_allocator *a = m->automaton->a;
    for (int i = 0; i < CACHED_MASKS; i++)
        qr_free(a, m->cache[i].mask, m->vocab->n_words + 1, sizeof(uint32_t));
    qr_runs_free(&m->runs);
    qr_free(a, m->covered, m->covered_capacity, 1);
    qr_free(a, m->levels, m->vocab->max_bytes + 1, sizeof *m->levels);
    qr_free(a, m->pairs, m->pairs_capacity, sizeof *m->pairs);
    qr_free(a, m, 1, sizeof *m);
}

/* ---- Slices ---- */

/* The largest slice whose tokens a state of the lexer allows inside its lexemes. */
static quire_status find_slice(struct qr_masks *m, qr_lex_state lex, enum qr_slice *out)
{
    *out = QR_SLICE_NONE;
    if (lex == QR_LEX_DEAD)
        return QUIRE_OK;
    if (lex >= m->covered_capacity) {
        const size_t before = m->covered_capacity;
        if (!qr_grow(m->automaton->a, (void **)&m->covered, &m->covered_capacity, (size_t)lex + 1,
                     1))
            return QUIRE_E_NOMEM;
        memset(m->covered + before, 0, m->covered_capacity - before);
    }
    if (m->covered[lex] == 0) {
        const uint32_t run = qr_lexer_plain_run(m->automaton->lexer, lex);
        enum qr_slice s = QR_SLICE_PLAIN;
        while (s > QR_SLICE_NONE && run < m->vocab->slice_chars[s])
            s--;
        m->covered[lex] = (uint8_t)(s + 1);
    }
    *out = m->covered[lex] - 1;
    return qr_regex_set_status(m->automaton->set);
}

/* ---- The walk ---- */

static void allow(uint32_t *mask, int32_t token)
{
    mask[(uint32_t)token / 32] |= 1u << ((uint32_t)token % 32);
}

/* Allows the tokens that end at a node. Most nodes have one or none, with the bit behind the mask:
 * a branch could not be predicted. */
static inline void allow_node(const struct qr_trie *trie, const struct qr_trie_node *node,
                              uint32_t *mask)
{
    allow(mask, node->token);
    for (uint32_t i = node[0].first + 1; i < node[1].first; i++)
        allow(mask, trie->tokens[i]);
}

/* Allows the tokens that end at a node or below it. */
static void allow_subtree(const struct qr_trie *trie, const struct qr_trie_node *node,
                          uint32_t *mask)
{
    const uint32_t end = node[node->skip].first;
    for (uint32_t i = node->first; i < end; i++)
        allow(mask, trie->tokens[i]);
}

/* The pairs of a level. */
static const struct qr_pair *level_pairs(const struct qr_masks *m, const struct level *level)
{
    return level->n == 1 ? &level->one : m->pairs + level->at;
}

/* The state after one more byte, at levels[depth]; no pairs: the byte is not allowed. */
static quire_status step(struct qr_masks *m, unsigned depth, uint8_t byte)
{
    const struct level *from = &m->levels[depth - 1];
    struct level *to = &m->levels[depth];
    size_t n;
    to->at = from->at + (from->n > 1 ? from->n : 0);
    if (!qr_grow(m->automaton->a, (void **)&m->pairs, &m->pairs_capacity,
                 (size_t)to->at + from->n + 1, sizeof *m->pairs))
        return QUIRE_E_NOMEM;
    const quire_status status =
        qr_automaton_step(m->automaton, level_pairs(m, from), from->n, byte, m->pairs + to->at, &n);
    to->n = (uint32_t)n;
    if (n == 1)
        to->one = m->pairs[to->at];
    return status;
}

/* Whether one of n pairs stays alive on all strings below a node: their tokens are allowed. */
static quire_status find_cover(struct qr_masks *m, const struct qr_trie *trie,
                               const struct qr_trie_node *node, const struct qr_pair *pairs,
                               size_t n, bool *covers)
{
    const qr_alphabet alphabet = trie->alphabets[node - trie->nodes];
    *covers = false;
    for (size_t i = 0; i < n && i < MAX_CACHED_PAIRS && !*covers; i++)
        QR_TRY(
            qr_runs_cover(&m->runs, pairs[i].lex & ~QR_LEX_FRESH, alphabet, node->chars, covers));
    return QUIRE_OK;
}

/* Visits a node by the automaton. *next: the node to visit then. */
static quire_status visit(struct qr_masks *m, const struct qr_trie *trie,
                          const struct qr_trie_node *node, uint32_t *mask,
                          const struct qr_trie_node **next)
{
    const struct level *level = &m->levels[node->depth];
    bool covers = false;
    QR_TRY(step(m, node->depth, node->byte));
    *next = node + node->skip;
    if (level->n == 0)
        return QUIRE_OK;
    if (node->chars > 0)
        QR_TRY(find_cover(m, trie, node, level_pairs(m, level), level->n, &covers));
    if (covers) {
        allow_subtree(trie, node, mask);
        return QUIRE_OK;
    }
    allow_node(trie, node, mask);
    *next = node + 1;
    return QUIRE_OK;
}

/* Visits a node below a single pair, as long as the bytes lead on inside its lexeme, which needs no
 * parser. *done: false if visit() has to do it. */
static inline quire_status visit_inside(struct qr_masks *m, const struct qr_lex_tables *t,
                                        const struct qr_trie *trie, const struct qr_trie_node *node,
                                        uint32_t *mask, const struct qr_trie_node **next,
                                        bool *done)
{
    const struct level *from = &m->levels[node->depth - 1];
    const size_t lex = from->one.lex & ~QR_LEX_FRESH;
    const qr_lex_state to = t->next[lex * t->n_classes + t->class_of[node->byte]];
    bool covers = false;
    *next = node + node->skip;
    *done = true;
    if (to == QR_LEX_DEAD)
        return QUIRE_OK;
    const struct qr_pair pair = { to, from->one.row };
    if (node->chars > 0 && to != QR_LEX_UNKNOWN)
        QR_TRY(find_cover(m, trie, node, &pair, 1, &covers));
    if (covers) {
        allow_subtree(trie, node, mask);
        return QUIRE_OK;
    }
    *next = node + 1;
    *done = to != QR_LEX_UNKNOWN && !(t->flags[to] & QR_LEX_ACCEPTS);
    if (!*done)
        return QUIRE_OK;
    m->levels[node->depth] = (struct level){ .one = pair, .at = from->at, .n = 1 };
    allow_node(trie, node, mask);
    return QUIRE_OK;
}

/* Allows the tokens of a trie that lead on from levels[0]. mask: [n_words + 1], the last word is
 * scratch. */
static quire_status walk(struct qr_masks *m, const struct qr_trie *trie, uint32_t *mask)
{
    const struct qr_trie_node *node = trie->nodes, *end = node + trie->n, *next;
    struct qr_lex_tables t = qr_lexer_tables(m->automaton->lexer);
    for (uint32_t n = 1; node < end; node = next, n++) {
        bool done = false;
        if (m->levels[node->depth - 1].n == 1)
            QR_TRY(visit_inside(m, &t, trie, node, mask, &next, &done));
        if (!done)
            QR_TRY(visit(m, trie, node, mask, &next));
        if (m->yield != NULL && (!done || n % NODES_PER_YIELD == 0))
            m->yield(m->yield_arg);
        if (!done || n % NODES_PER_YIELD == 0)
            t = qr_lexer_tables(m->automaton->lexer);
    }
    return QUIRE_OK;
}

/* Control tokens that the grammar names here. */
static void allow_control_tokens(const struct qr_masks *m, const struct qr_pair *pairs, size_t n,
                                 uint32_t *mask)
{
    const struct qr_automaton *a = m->automaton;
    for (size_t i = 0; i < n; i++) {
        const struct qr_row *row = &a->rows[pairs[i].row];
        if (!(pairs[i].lex & QR_LEX_FRESH) || !row->has_tokens)
            continue;
        for (uint32_t k = 0; k < row->n_items; k++) {
            const struct qr_net_state *s = &a->net->states[a->items[row->items + k].state];
            if (s->kind == QR_NET_TOKEN && s->a < m->vocab->n_tokens)
                mask[s->a / 32] |= 1u << (s->a % 32);
        }
    }
}

static quire_status compute(struct qr_masks *m, const struct qr_pair *pairs, size_t n,
                            uint32_t *mask)
{
    const struct quire_grammar_vocab *v = m->vocab;
    enum qr_slice slice = QR_SLICE_NONE;
    for (size_t i = 0; i < n && slice != QR_SLICE_PLAIN; i++) {
        enum qr_slice s;
        QR_TRY(find_slice(m, pairs[i].lex & ~QR_LEX_FRESH, &s));
        slice = s > slice ? s : slice;
    }
    if (slice != QR_SLICE_NONE)
        memcpy(mask, v->slices[slice], v->n_words * sizeof *mask);
    else
        memset(mask, 0, v->n_words * sizeof *mask);
    if (!qr_grow(m->automaton->a, (void **)&m->pairs, &m->pairs_capacity, n + v->max_bytes + 2,
                 sizeof *m->pairs))
        return QUIRE_E_NOMEM;
    memcpy(m->pairs, pairs, n * sizeof *pairs);
    m->levels[0] = (struct level){ .n = (uint32_t)n };
    if (n == 1)
        m->levels[0].one = pairs[0];
    QR_TRY(walk(m, &v->tries[slice], mask));
    allow_control_tokens(m, pairs, n, mask);
    if (qr_automaton_accepts(m->automaton, pairs, n))
        for (size_t w = 0; w < v->n_words; w++)
            mask[w] |= v->ends[w];
    return QUIRE_OK;
}

/* ---- Cache ---- */

/* The entry of a state; without one, the one that was unused the longest, with n 0. */
static struct cached_mask *find_cached(struct qr_masks *m, const struct qr_pair *pairs, size_t n)
{
    struct cached_mask *oldest = &m->cache[0];
    for (int i = 0; i < CACHED_MASKS; i++) {
        struct cached_mask *c = &m->cache[i];
        if (c->n == n && memcmp(c->pairs, pairs, n * sizeof *pairs) == 0)
            return c;
        if (c->last_use < oldest->last_use)
            oldest = c;
    }
    oldest->n = 0;
    return oldest;
}

quire_status qr_masks_compute(struct qr_masks *m, const struct qr_pair *pairs, size_t n,
                              uint32_t *mask)
{
    const size_t words = m->vocab->n_words;
    const bool keep = n > 0 && n <= MAX_CACHED_PAIRS;
    struct cached_mask *c = find_cached(m, pairs, keep ? n : 0);
    c->last_use = ++m->uses;
    if (!keep || c->n != n) {
        c->n = 0;
        if (c->mask == NULL &&
            (c->mask = qr_alloc(m->automaton->a, words + 1, sizeof *mask)) == NULL)
            return QUIRE_E_NOMEM;
        QR_TRY(compute(m, pairs, n, c->mask));
        memcpy(c->pairs, pairs, (keep ? n : 0) * sizeof *pairs);
        c->n = keep ? n : 0;
    }
    memcpy(mask, c->mask, words * sizeof *mask);
    return QUIRE_OK;
}
