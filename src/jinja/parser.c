/* SPDX-License-Identifier: Apache-2.0 */
/* parser.c - token stream and error messages of the parser. */
#include "jinja/parser.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/lexer.h"
#include "jinja/value.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

quire_status qr_jinja_parser_error(struct qr_jinja_parser *p, const char *fmt, ...)
{
    char msg[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    p->j->pos = p->t->pos;
    return qr_jinja_fail(p->j, QUIRE_E_FORMAT, "template: %s", msg);
}

quire_status qr_jinja_parser_unexpected(struct qr_jinja_parser *p, const char *wanted)
{
    const struct qr_jinja_token *t = p->t;
    const int n = t->n > 60 ? 60 : (int)t->n;
    switch (t->type) {
    case QR_JINJA_TOKEN_NAME:
    case QR_JINJA_TOKEN_STRING:
        return qr_jinja_parser_error(p, "expected %s, got '%.*s'", wanted, n, t->p);
    case QR_JINJA_TOKEN_OP:
        if (t->op < QR_JINJA_OP_EQ)
            return qr_jinja_parser_error(p, "expected %s, got '%c'", wanted, t->op);
        return qr_jinja_parser_error(p, "expected %s, got an operator", wanted);
    case QR_JINJA_TOKEN_EOF:
        return qr_jinja_parser_error(p, "unexpected end of template, expected %s", wanted);
    case QR_JINJA_TOKEN_VAR_END:
    case QR_JINJA_TOKEN_BLOCK_END:
        return qr_jinja_parser_error(p, "expected %s, got the end of the tag", wanted);
    default:
        return qr_jinja_parser_error(p, "expected %s", wanted);
    }
}

quire_status qr_jinja_parser_enter(struct qr_jinja_parser *p)
{
    p->j->pos = p->t->pos;
    return p->depth++ < QR_JINJA_MAX_NESTING ? QUIRE_OK : qr_jinja_too_deep(p->j);
}

bool qr_jinja_parser_at_name(const struct qr_jinja_parser *p, const char *name)
{
    return p->t->type == QR_JINJA_TOKEN_NAME && p->t->n == strlen(name) &&
           memcmp(p->t->p, name, p->t->n) == 0;
}

bool qr_jinja_parser_accept_name(struct qr_jinja_parser *p, const char *name)
{
    const bool here = qr_jinja_parser_at_name(p, name);
    if (here)
        qr_jinja_parser_advance(p);
    return here;
}

bool qr_jinja_parser_accept_op(struct qr_jinja_parser *p, int op)
{
    const bool here = qr_jinja_parser_at_op(p, op);
    if (here)
        qr_jinja_parser_advance(p);
    return here;
}

quire_status qr_jinja_parser_expect_op(struct qr_jinja_parser *p, int op)
{
    const char wanted[] = { '\'', (char)op, '\'', 0 };
    return qr_jinja_parser_accept_op(p, op) ? QUIRE_OK : qr_jinja_parser_unexpected(p, wanted);
}

quire_status qr_jinja_parser_take_name(struct qr_jinja_parser *p, struct qr_jinja_value *out)
{
    if (p->t->type != QR_JINJA_TOKEN_NAME)
        return qr_jinja_parser_unexpected(p, "a name");
    QR_TRY(qr_jinja_str_borrow(p->j, p->t->p, p->t->n, false, out));
    qr_jinja_parser_advance(p);
    return QUIRE_OK;
}
