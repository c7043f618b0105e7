/* SPDX-License-Identifier: Apache-2.0 */
/* lark_tokens.h - tokens of the notation of Lark. */
#ifndef QR_GRAMMAR_FRONT_END_LARK_TOKENS_H
#define QR_GRAMMAR_FRONT_END_LARK_TOKENS_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qr_lark_kind {
    QR_LARK_END,
    QR_LARK_NEWLINE,   /* outside parentheses, unless a line with | follows */
    QR_LARK_NAME,      /* rule or terminal */
    QR_LARK_DIRECTIVE, /* %name */
    QR_LARK_STRING,    /* the text between the quotes */
    QR_LARK_REGEX,     /* the text between the slashes */
    QR_LARK_NUMBER,
    QR_LARK_TOKEN, /* <name>, with the brackets */
    QR_LARK_JSON,  /* the object behind %json */
    QR_LARK_RANGE, /* .. */
    QR_LARK_ARROW, /* -> */
    QR_LARK_SIGN,  /* one character */
};

struct qr_lark_token {
    uint8_t kind;
    char flags[3]; /* letters behind a string or regular expression; "?" for more than two */
    uint32_t line;
    const char *text; /* in the grammar */
    size_t size;
};

/* Splits a grammar, which is borrowed. *tokens is an array of *capacity elements that ends with
 * QR_LARK_END; it is freed with qr_free(a, *tokens, *capacity, sizeof **tokens), after failures
 * too. */
quire_status qr_lark_split(const char *text, size_t size, const struct quire_allocator *a,
                           struct qr_lark_token **tokens, size_t *capacity,
                           struct quire_error *err) QUIRE_MUST_CHECK;

/* Whether a name is that of a terminal: its first letter is a capital. */
bool qr_lark_is_terminal(const struct qr_lark_token *t);
/* Whether the text of a token is this one. */
bool qr_lark_is_text(const struct qr_lark_token *t, const char *text);

#endif
