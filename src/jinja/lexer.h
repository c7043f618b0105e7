/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.h - tokens of a template. */
#ifndef QR_JINJA_LEXER_H
#define QR_JINJA_LEXER_H
#include "jinja/types.h"

enum qr_jinja_token_type {
    QR_JINJA_TOKEN_EOF,
    QR_JINJA_TOKEN_DATA, /* text outside tags */
    QR_JINJA_TOKEN_VAR_BEGIN,
    QR_JINJA_TOKEN_VAR_END,
    QR_JINJA_TOKEN_BLOCK_BEGIN,
    QR_JINJA_TOKEN_BLOCK_END,
    QR_JINJA_TOKEN_NAME,
    QR_JINJA_TOKEN_STRING,
    QR_JINJA_TOKEN_INT,
    QR_JINJA_TOKEN_FLOAT,
    QR_JINJA_TOKEN_OP
};

struct qr_jinja_token {
    enum qr_jinja_token_type type;
    int op;        /* OP: the character, or one of enum qr_jinja_op */
    size_t pos;    /* byte offset in the source */
    const char *p; /* DATA, NAME, STRING: the text, with escapes decoded */
    size_t n;
    int64_t i;
    double f;
};

/* Splits j->source into tokens; the last one is EOF. */
quire_status qr_jinja_lex(struct qr_jinja *j, struct qr_jinja_token **out);

#endif
