/* SPDX-License-Identifier: Apache-2.0 */
/* mask.h - which tokens may follow the state of a text. */
#ifndef QR_GRAMMAR_CORE_MASK_H
#define QR_GRAMMAR_CORE_MASK_H
#include "grammar/core/automaton.h"
#include "grammar/core/trie.h"

/* Scratch and memory of masks, one per automaton. */
struct qr_masks;

/* yield(arg) is called between steps of qr_masks_compute; others may use the automaton, but not the
 * masks, until it returns. NULL: none. */
quire_status qr_masks_new(const struct quire_grammar_vocab *vocab, struct qr_automaton *automaton,
                          void (*yield)(void *), void *arg, struct qr_masks **out) QUIRE_MUST_CHECK;
void qr_masks_free(struct qr_masks *m);

/* Writes the mask of n pairs, [vocab->n_words]. */
quire_status qr_masks_compute(struct qr_masks *m, const struct qr_pair *pairs, size_t n,
                              uint32_t *mask) QUIRE_MUST_CHECK;

#endif
