/* SPDX-License-Identifier: Apache-2.0 */
/* assertion.h - regular expressions with anchors and look-ahead, which become expressions by
 * building each term together with what follows it. */
#ifndef QR_GRAMMAR_REGEX_ASSERTION_H
#define QR_GRAMMAR_REGEX_ASSERTION_H
#include "grammar/regex/regex_set.h"
#include <stddef.h>

enum qr_term_kind {
    QR_TERM_PURE, /* an expression without assertions */
    QR_TERM_SEQUENCE,
    QR_TERM_OR,
    QR_TERM_START,        /* ^ */
    QR_TERM_END,          /* $ */
    QR_TERM_AHEAD,        /* (?=...) */
    QR_TERM_NOT_AHEAD,    /* (?!...) */
    QR_TERM_BOUNDARY,     /* \b */
    QR_TERM_NOT_BOUNDARY, /* \B */
};

/* A term; 0 after a failure without memory. */
typedef uint32_t qr_term;
#define QR_TERM_UNSUPPORTED UINT32_MAX

struct qr_term_node {
    uint8_t kind;
    bool zero_width; /* matches the empty string only */
    bool has_start;  /* ^ inside */
    qr_regex r;      /* PURE */
    qr_term a, b;    /* SEQUENCE, OR; look-ahead: a */
    uint32_t depth;
};

/* Terms of one expression. */
struct qr_assertions {
    struct qr_regex_set *set;
    struct qr_term_node *nodes;
    size_t n, capacity;
};
void qr_assertions_init(struct qr_assertions *t, struct qr_regex_set *set);
void qr_assertions_free(struct qr_assertions *t);

qr_term qr_term_pure(struct qr_assertions *t, qr_regex r);
qr_term qr_term_anchor(struct qr_assertions *t, enum qr_term_kind kind);
qr_term qr_term_look(struct qr_assertions *t, enum qr_term_kind kind, qr_term body);
qr_term qr_term_concat(struct qr_assertions *t, qr_term a, qr_term b);
qr_term qr_term_or(struct qr_assertions *t, qr_term a, qr_term b);
/* QR_TERM_UNSUPPORTED where an assertion would be repeated without a small bound. */
qr_term qr_term_repeat(struct qr_assertions *t, qr_term a, uint32_t min, uint32_t max);

/* The expression of a term.
 *  any_char  one character; word_char  one of \w
 *  search    the term may match anywhere in the text; otherwise the whole text
 *  QUIRE_E_UNSUPPORTED ^ behind a term that may be empty, \b behind anything but ^ and a term that
 *  is never empty and has no assertions; QUIRE_E_LIMIT nesting */
quire_status qr_term_compile(struct qr_assertions *t, qr_term root, qr_regex any_char,
                             qr_regex word_char, bool search, qr_regex *out) QUIRE_MUST_CHECK;

#endif
