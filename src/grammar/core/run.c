/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/run.h"
#include "base/alloc.h"
#include "base/error.h"
#include <string.h>

/* Characters of the alphabet lead to `next`, as far as transitions are known. */
struct qr_run {
    qr_lex_state next;
    qr_alphabet alphabet;
    /* queries that the alphabet did not answer; how many of them until it is computed again */
    uint32_t n_misses, max_misses;
};

void qr_runs_init(struct qr_runs *r, struct qr_lexer *lexer, const struct quire_allocator *a)
{
    *r = (struct qr_runs){ .lexer = lexer, .a = a };
}

void qr_runs_free(struct qr_runs *r) { qr_free(r->a, r->list, r->capacity, sizeof *r->list); }

static struct qr_run *find(struct qr_runs *r, qr_lex_state state)
{
    const size_t before = r->capacity;
    if (state >= before) {
        if (!qr_grow(r->a, (void **)&r->list, &r->capacity, (size_t)state + 1, sizeof *r->list))
            return NULL;
        memset(r->list + before, 0, (r->capacity - before) * sizeof *r->list);
    }
    return &r->list[state];
}

static qr_lex_state lead(const struct qr_lex_tables *t, qr_lex_state state, unsigned byte)
{
    return t->next[(size_t)state * t->n_classes + t->class_of[byte]];
}

/* Whether a state can be followed. */
static bool is_known(qr_lex_state state) { return state != QR_LEX_DEAD && state != QR_LEX_UNKNOWN; }

/* The groups of ASCII characters that all lead to the state that most characters lead to. */
static void find_ascii(const struct qr_lex_tables *t, qr_lex_state state, struct qr_run *run)
{
    qr_lex_state to[0x80], most = QR_LEX_DEAD;
    unsigned votes = 0; /* Boyer and Moore's majority among the characters that lead on */
    for (unsigned b = 0; b < 0x80; b++) {
        to[b] = lead(t, state, b);
        if (!is_known(to[b]))
            continue;
        if (votes == 0)
            most = to[b];
        votes = to[b] == most ? votes + 1 : votes - 1;
    }
    qr_alphabet differ = 0;
    for (unsigned b = 0; b < 0x80; b++)
        differ |= (qr_alphabet)(to[b] != most) << qr_group_of((uint8_t)b);
    run->next = most;
    run->alphabet = most != QR_LEX_DEAD ? ~differ & ~QR_ALPHABET_WIDE : 0;
}

/* Whether n_bytes continuation bytes of a character all lead to `next`, the first one from lo to
 * hi. Bounded recursion: n_bytes <= 3. */
static bool follow(const struct qr_lex_tables *t, qr_lex_state state, unsigned lo, unsigned hi,
                   unsigned n_bytes, qr_lex_state next)
{
    qr_lex_state last = QR_LEX_DEAD;
    for (unsigned b = lo; b <= hi; b++) {
        const qr_lex_state to = lead(t, state, b);
        if (n_bytes == 1 ? to != next : !is_known(to))
            return false;
        if (to != last && n_bytes > 1 && !follow(t, to, 0x80, 0xbf, n_bytes - 1, next))
            return false;
        last = to;
    }
    return true;
}

/* The same for the characters that begin with a byte: without overlong forms, surrogates and what
 * is beyond U+10FFFF. */
static bool follow_first(const struct qr_lex_tables *t, qr_lex_state state, unsigned byte,
                         qr_lex_state next)
{
    const unsigned lo = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
    const unsigned hi = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    const qr_lex_state to = lead(t, state, byte);
    return is_known(to) && follow(t, to, lo, hi, byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3, next);
}

static void find_run(const struct qr_lex_tables *t, qr_lex_state state, struct qr_run *run)
{
    find_ascii(t, state, run);
    for (unsigned g = QR_GROUP_WIDE; g < QR_N_GROUPS && run->next != QR_LEX_DEAD; g++) {
        const struct qr_wide_group group = qr_wide_groups[g - QR_GROUP_WIDE];
        bool same = true;
        for (unsigned b = group.first; b <= group.last && same; b++)
            same = follow_first(t, state, b, run->next);
        if (same)
            run->alphabet |= (qr_alphabet)1 << g;
    }
}

/* Whether the characters of the alphabet lead to run->next. What is known of a state grows while
 * tries are walked, so the run is computed again, with exponential backoff. */
static bool leads(const struct qr_lex_tables *t, qr_lex_state state, struct qr_run *run,
                  qr_alphabet alphabet)
{
    if ((alphabet & ~run->alphabet) != 0 && run->n_misses++ >= run->max_misses) {
        find_run(t, state, run);
        run->n_misses = 0;
        run->max_misses = 2 * run->max_misses + 1;
    }
    return (alphabet & ~run->alphabet) == 0;
}

quire_status qr_runs_cover(struct qr_runs *r, qr_lex_state state, qr_alphabet alphabet,
                           unsigned n_chars, bool *covers)
{
    const struct qr_lex_tables t = qr_lexer_tables(r->lexer);
    *covers = state != QR_LEX_DEAD;
    for (unsigned i = 0; i < n_chars && *covers; i++) {
        struct qr_run *run = find(r, state);
        if (run == NULL)
            return QUIRE_E_NOMEM;
        *covers = leads(&t, state, run, alphabet);
        if (run->next == state)
            break;
        state = run->next;
    }
    return QUIRE_OK;
}
