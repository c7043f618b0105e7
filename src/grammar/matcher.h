/* SPDX-License-Identifier: Apache-2.0 */
/* matcher.h - the public matcher (quire/grammar.h), and the grammar that its matchers share. */
#ifndef QR_GRAMMAR_MATCHER_H
#define QR_GRAMMAR_MATCHER_H
#include "grammar/core/limited_memory.h"
#include "grammar/core/mask.h"
#include "grammar/cursor.h"
#include "grammar/lock.h"
#include <quire/grammar.h>

struct quire_grammar {
    struct qr_handle handle;
    struct quire_allocator allocator;
    const struct quire_allocator *a; /* &allocator or NULL: this struct, history of matchers */
    struct qr_limited_memory memory; /* all else */
    struct quire_grammar_vocab *vocab;
    struct qr_regex_set *set;
    qr_regex *lexemes; /* [n_lexemes] */
    size_t n_lexemes;
    double compile_seconds;
    /* automaton and masks are built lazily: the lock covers all that follows */
    struct qr_grammar_lock lock;
    struct qr_automaton *automaton;
    struct qr_masks *masks;
};

struct quire_grammar_matcher {
    struct qr_handle handle;
    struct quire_grammar *grammar;
    /* states after 0 .. n tokens of the history: state i is pairs[ends[i - 1] .. ends[i]) */
    struct qr_pair *pairs;
    size_t pairs_capacity;
    size_t *ends; /* [n + 1] */
    size_t n, ends_capacity;
    uint64_t committed; /* tokens in all, for messages */
    struct qr_cursor cursor;
};

/* The state after the last token. */
const struct qr_pair *qr_matcher_state(const struct quire_grammar_matcher *m, size_t *n);

/* quire_grammar_apply_mask() with the kernels of a level: the bits do not depend on it. */
struct qr_kernels;
void qr_mask_apply(const struct qr_kernels *k, const uint32_t *mask, size_t n_words, float *logits,
                   size_t n_logits);

/* A status of the automaton with the reason why it got no memory. */
quire_status qr_matcher_status(const struct quire_grammar_matcher *m, quire_status status);
/* Fails with the message of such a status. */
quire_status qr_matcher_fail(const struct quire_grammar_matcher *m, quire_status status,
                             struct quire_error *err);

#endif
