/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - token stream and error messages of the recursive-descent parser. */
#ifndef QR_JINJA_PARSER_H
#define QR_JINJA_PARSER_H
#include "jinja/lexer.h"

struct qr_jinja_parser {
    struct qr_jinja *j;
    const struct qr_jinja_token *t; /* current token; never advances beyond EOF */
    unsigned depth;                 /* nesting of blocks and brackets */
    unsigned loops;                 /* enclosing loops within the current macro */
    uint8_t *macro_flags;           /* of the innermost macro, to be or-ed into; never NULL */
};

/* Fails at the current token. */
quire_status qr_jinja_parser_error(struct qr_jinja_parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Fails with "expected <wanted>, got <current token>". */
quire_status qr_jinja_parser_unexpected(struct qr_jinja_parser *p, const char *wanted);
/* Enters one level of nesting, up to QR_JINJA_MAX_NESTING; the caller decrements p->depth. */
quire_status qr_jinja_parser_enter(struct qr_jinja_parser *p);

static inline void qr_jinja_parser_advance(struct qr_jinja_parser *p)
{
    /* GCOVR_EXCL_BR_LINE: the callers have seen a token that is not the last one. */
    p->t += p->t->type != QR_JINJA_TOKEN_EOF;
}
static inline bool qr_jinja_parser_at_op(const struct qr_jinja_parser *p, int op)
{
    return p->t->type == QR_JINJA_TOKEN_OP && p->t->op == op;
}
bool qr_jinja_parser_at_name(const struct qr_jinja_parser *p, const char *name);
/* accept: consume the token if it matches. expect: fail if it does not. */
bool qr_jinja_parser_accept_name(struct qr_jinja_parser *p, const char *name);
bool qr_jinja_parser_accept_op(struct qr_jinja_parser *p, int op);
quire_status qr_jinja_parser_expect_op(struct qr_jinja_parser *p, int op);
/* Consumes a NAME token and makes a string value of it. */
quire_status qr_jinja_parser_take_name(struct qr_jinja_parser *p, struct qr_jinja_value *out);

#endif
