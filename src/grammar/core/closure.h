/* SPDX-License-Identifier: Apache-2.0 */
/* closure.h - prediction and completion of the items of a new row. */
#ifndef QR_GRAMMAR_CORE_CLOSURE_H
#define QR_GRAMMAR_CORE_CLOSURE_H
#include "grammar/core/automaton.h"

quire_status qr_closure_new(struct qr_automaton *m, struct qr_closure **out) QUIRE_MUST_CHECK;
void qr_closure_free(struct qr_closure *c);

/* Begins a new row. */
void qr_closure_begin(struct qr_closure *c);
/* Adds an item unless it is there, or derives nothing. */
quire_status qr_closure_add(struct qr_closure *c, uint32_t state, uint32_t param,
                            uint32_t origin) QUIRE_MUST_CHECK;
/* The text may end in the row. */
void qr_closure_accept(struct qr_closure *c);
/* Adds everything that follows from the items without a lexeme. */
quire_status qr_closure_complete(struct qr_closure *c) QUIRE_MUST_CHECK;

/* The items of the row: calls, lexemes and tokens, sorted. Until the next qr_closure_begin. */
const struct qr_item *qr_closure_items(struct qr_closure *c, size_t *n, bool *accepts);

#endif
