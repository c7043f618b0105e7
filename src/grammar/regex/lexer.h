/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.h - deterministic automaton over bytes that recognizes many lexemes at once, built lazily
 * from derivatives. */
#ifndef QR_GRAMMAR_REGEX_LEXER_H
#define QR_GRAMMAR_REGEX_LEXER_H
#include "grammar/regex/regex_set.h"

struct qr_lexer; /* not thread-safe */

/* A state: the set of lexemes that the bytes so far can still become, each with the rest that must
 * follow. Equal sets have equal states. */
typedef uint32_t qr_lex_state;
#define QR_LEX_DEAD    0u    /* no lexeme is left */
#define QR_LEX_UNKNOWN (~0u) /* in tables: not computed yet */

/* lexemes  [n] expressions, borrowed with the set until free; lexeme i is expression i
 * QUIRE_E_NOMEM, and QUIRE_E_LIMIT as of qr_regex_set_status(), here and below */
quire_status qr_lexer_new(struct qr_regex_set *set, const qr_regex *lexemes, uint32_t n,
                          const struct quire_allocator *a, struct qr_lexer **out) QUIRE_MUST_CHECK;
void qr_lexer_free(struct qr_lexer *lexer);

/* The state before the first byte of any of the lexemes ids[n], in ascending order. */
quire_status qr_lexer_start(struct qr_lexer *lexer, const uint32_t *ids, uint32_t n,
                            qr_lex_state *out) QUIRE_MUST_CHECK;

/* Dead ends are removed: every state but QR_LEX_DEAD accepts or has an accepting state ahead.
 *
 * Transitions by classes of bytes that no lexeme tells apart: next = table[state * n_classes +
 * class_of[byte]], QR_LEX_UNKNOWN until qr_lexer_step has computed it. The pointers change when
 * states are added; qr_lexer_tables returns the current ones. */
struct qr_lex_tables {
    const qr_lex_state *next;
    const uint8_t *class_of; /* [256] */
    uint32_t n_classes;
    uint32_t n_states;
    const uint8_t *flags; /* [n_states] QR_LEX_ACCEPTS, QR_LEX_CONTINUES */
};
enum {
    QR_LEX_ACCEPTS = 1,   /* some lexeme is complete */
    QR_LEX_CONTINUES = 2, /* some byte may follow */
};
struct qr_lex_tables qr_lexer_tables(const struct qr_lexer *lexer);
quire_status qr_lexer_step(struct qr_lexer *lexer, qr_lex_state state, uint8_t byte,
                           qr_lex_state *out) QUIRE_MUST_CHECK;

/* The lexemes that are complete in this state, ascending; *n may be 0. */
const uint32_t *qr_lexer_accepts(const struct qr_lexer *lexer, qr_lex_state state, uint32_t *n);
/* A number n such that every string of at most n plain characters keeps some lexeme alive, told by
 * the forms of the expressions: see regex/plain_run.h. */
uint32_t qr_lexer_plain_run(struct qr_lexer *lexer, qr_lex_state state);

#endif
