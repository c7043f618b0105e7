/* SPDX-License-Identifier: Apache-2.0 */
/* automaton.h - the parser of a grammar as a lazily built automaton: an Earley parser (Earley 1970;
 * nullable rules as Aycock and Horspool 2002) whose rows are interned.
 *
 * A row is the set of items after some text. Its items refer to the rows in which their rules began
 * by id, not by position: equal sets are one row, wherever they occur, and what follows from a row
 * and a lexeme is computed once.
 *
 * The state of a text is a set of pairs (state of the lexer, row): the lexemes that are under way,
 * and the row in which they began. One lock per automaton; the caller holds it. */
#ifndef QR_GRAMMAR_CORE_AUTOMATON_H
#define QR_GRAMMAR_CORE_AUTOMATON_H
#include "grammar/core/network.h"
#include "grammar/core/param.h"
#include "grammar/regex/lexer.h"

/* An item: a position in a rule that began in row `origin`. */
struct qr_item {
    uint32_t state, param, origin;
};
#define QR_ORIGIN_SELF UINT32_MAX /* the row that the item is in */

struct qr_row {
    uint32_t items, n_items; /* in automaton->items: calls, lexemes and tokens, sorted */
    qr_lex_state lex;        /* before the first byte of its lexemes */
    bool accepts;            /* the text may end here */
    bool has_tokens;         /* control tokens may follow */
};

struct qr_pair {
    uint32_t lex; /* state of the lexer; QR_LEX_FRESH: no byte of the lexeme has come yet */
    uint32_t row;
};
#define QR_LEX_FRESH 0x80000000u

enum { QR_ROOT_ROW = 0 };

struct qr_closure; /* scratch of automaton.c */

struct qr_automaton {
    const struct quire_allocator *a;
    struct qr_network *net;
    struct qr_lexer *lexer;
    const qr_regex *lexemes; /* [n_lexemes] */
    struct qr_regex_set *set;
    struct qr_params params;
    struct qr_row *rows;
    size_t n_rows, rows_capacity;
    struct qr_item *items;
    size_t n_items, items_capacity;
    uint32_t *index; /* hash table of rows: id + 1 */
    size_t index_size;
    struct qr_row_memo {
        uint32_t row, lex, result; /* lex 0: free */
    } * memo;
    size_t memo_size, n_memo;
    struct qr_closure *closure;
};

/* Takes net; borrows set and lexemes. */
quire_status qr_automaton_new(struct qr_network *net, struct qr_regex_set *set,
                              const qr_regex *lexemes, uint32_t n_lexemes,
                              const struct quire_allocator *a,
                              struct qr_automaton **out) QUIRE_MUST_CHECK;
void qr_automaton_free(struct qr_automaton *m);

/* The pair before any text. */
struct qr_pair qr_automaton_start(const struct qr_automaton *m);

/* What follows from n pairs and a byte: at most n + 1 pairs, 0 if the byte is not allowed. */
quire_status qr_automaton_step(struct qr_automaton *m, const struct qr_pair *pairs, size_t n,
                               uint8_t byte, struct qr_pair *out, size_t *n_out) QUIRE_MUST_CHECK;

/* What follows from a control token: *n_out 0 or 1. */
quire_status qr_automaton_token(struct qr_automaton *m, const struct qr_pair *pairs, size_t n,
                                int32_t token, struct qr_pair *out, size_t *n_out) QUIRE_MUST_CHECK;

/* Whether the text may end. */
bool qr_automaton_accepts(const struct qr_automaton *m, const struct qr_pair *pairs, size_t n);

#endif
