/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - strings that keep a lexeme alive whatever their characters: from most states of a lexeme
 * all characters of an alphabet lead to one state, from there to the next one, and so on. */
#ifndef QR_GRAMMAR_CORE_RUN_H
#define QR_GRAMMAR_CORE_RUN_H
#include "grammar/core/char_group.h"
#include "grammar/regex/lexer.h"

struct qr_run; /* of one state */

/* Runs of the states of a lexer, computed on demand. */
struct qr_runs {
    struct qr_lexer *lexer;
    const struct quire_allocator *a;
    struct qr_run *list; /* [capacity] by state */
    size_t capacity;
};

void qr_runs_init(struct qr_runs *r, struct qr_lexer *lexer, const struct quire_allocator *a);
void qr_runs_free(struct qr_runs *r);

/* *covers: every string of at most n_chars characters of the alphabet leads from the state to
 * another one than QR_LEX_DEAD. False also where this is true in other ways than by a run, or
 * transitions are not known yet. QUIRE_E_NOMEM. */
quire_status qr_runs_cover(struct qr_runs *r, qr_lex_state state, qr_alphabet alphabet,
                           unsigned n_chars, bool *covers) QUIRE_MUST_CHECK;

#endif
