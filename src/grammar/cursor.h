/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.h - a state of a text that moves on byte by byte or token by token. The caller holds the
 * lock of the grammar. */
#ifndef QR_GRAMMAR_CURSOR_H
#define QR_GRAMMAR_CURSOR_H
#include "grammar/core/automaton.h"
#include "grammar/core/trie.h"

struct qr_cursor {
    struct qr_automaton *automaton;
    const struct quire_tokenizer *tok;
    struct qr_pair *pairs; /* [n]; n 0: no text of the grammar begins like this */
    size_t n;
    struct qr_pair *buffers[2];
    size_t capacities[2];
};

void qr_cursor_init(struct qr_cursor *c, struct qr_automaton *automaton,
                    const struct quire_tokenizer *tok);
void qr_cursor_free(struct qr_cursor *c);

/* Moves to a state. */
quire_status qr_cursor_set(struct qr_cursor *c, const struct qr_pair *pairs,
                           size_t n) QUIRE_MUST_CHECK;
/* Moves on by a byte, or a token of the vocabulary. */
quire_status qr_cursor_byte(struct qr_cursor *c, uint8_t byte) QUIRE_MUST_CHECK;
quire_status qr_cursor_token(struct qr_cursor *c, int32_t token) QUIRE_MUST_CHECK;

#endif
