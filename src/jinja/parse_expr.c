/* SPDX-License-Identifier: Apache-2.0 */
/* parse_expr.c - parses expressions by operator precedence, and tuples. */
#include "jinja/parse_expr.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/lexer.h"
#include "jinja/parse_operand.h"
#include "jinja/parser.h"

/* Precedence levels, lowest first. Operands of a level are of the next level. */
enum level { OR, AND, NOT, COMPARE, SUM, CONCAT, PRODUCT, POWER, UNARY };

static quire_status parse_level(struct qr_jinja_parser *p, enum level level,
                                struct qr_jinja_node **out);

/* Binary operator of this level at the current token, 0 if there is none; *n_tokens: its length.
 * The level is neither NOT nor UNARY, which have no binary operators. */
static int operator_here(const struct qr_jinja_parser *p, enum level level, int *n_tokens)
{
    const int op = p->t->type == QR_JINJA_TOKEN_OP ? p->t->op : 0;
    *n_tokens = 1;
    switch (level) {
    case OR:
        return qr_jinja_parser_at_name(p, "or") ? 'o' : 0;
    case AND:
        return qr_jinja_parser_at_name(p, "and") ? 'a' : 0;
    case COMPARE:
        if (qr_jinja_parser_at_name(p, "in"))
            return QR_JINJA_OP_IN;
        if (qr_jinja_parser_at_name(p, "not")) {
            const struct qr_jinja_parser next = { .j = p->j, .t = p->t + 1 };
            *n_tokens = 2;
            return qr_jinja_parser_at_name(&next, "in") ? QR_JINJA_OP_NOT_IN : 0;
        }
        return op == '<' || op == '>' || (op >= QR_JINJA_OP_EQ && op <= QR_JINJA_OP_GE) ? op : 0;
    case SUM:
        return op == '+' || op == '-' ? op : 0;
    case CONCAT:
        return op == '~' ? op : 0;
    case PRODUCT:
        return op == '*' || op == '/' || op == '%' || op == QR_JINJA_OP_FLOORDIV ? op : 0;
    default: /* POWER */
        return op == QR_JINJA_OP_POW ? op : 0;
    }
}

/* Parses operands of one level into a flat list, so that long chains need no recursion. */
static quire_status parse_chain(struct qr_jinja_parser *p, enum level level,
                                struct qr_jinja_node **out)
{
    static const enum qr_jinja_node_kind kinds[] = { QR_JINJA_EXPR_OR,    QR_JINJA_EXPR_AND,
                                                     QR_JINJA_EXPR_NOT,   QR_JINJA_EXPR_COMPARE,
                                                     QR_JINJA_EXPR_ARITH, QR_JINJA_EXPR_CONCAT,
                                                     QR_JINJA_EXPR_ARITH, QR_JINJA_EXPR_ARITH };
    const size_t pos = p->t->pos;
    struct qr_jinja_node *first, *last, *chain = NULL;
    int op, n_tokens;
    QR_TRY(parse_level(p, level + 1, &first));
    last = first;
    while ((op = operator_here(p, level, &n_tokens))) {
        if (!chain)
            QR_TRY(qr_jinja_node_new(p->j, kinds[level], pos, &chain));
        while (n_tokens-- > 0)
            qr_jinja_parser_advance(p);
        /* `next` of a parsed operand is unused */
        QR_TRY(parse_level(p, level + 1, &last->next));
        last = last->next;
        last->op = (uint8_t)op;
    }
    if (chain)
        chain->a = first;
    *out = chain ? chain : first;
    return QUIRE_OK;
}

static quire_status parse_not(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    if (!qr_jinja_parser_at_name(p, "not"))
        return parse_level(p, COMPARE, out);
    QR_TRY(qr_jinja_parser_enter(p));
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_NOT, p->t->pos, out));
    qr_jinja_parser_advance(p);
    QR_TRY(parse_not(p, &(*out)->a));
    p->depth--;
    return QUIRE_OK;
}

static quire_status parse_level(struct qr_jinja_parser *p, enum level level,
                                struct qr_jinja_node **out)
{
    if (level == NOT)
        return parse_not(p, out);
    if (level == UNARY)
        return qr_jinja_parse_unary(p, true, out);
    return parse_chain(p, level, out);
}

quire_status qr_jinja_parse_expression(struct qr_jinja_parser *p, bool with_cond,
                                       struct qr_jinja_node **out)
{
    QR_TRY(qr_jinja_parser_enter(p));
    QR_TRY(parse_level(p, OR, out));
    while (with_cond && qr_jinja_parser_accept_name(p, "if")) {
        struct qr_jinja_node *cond;
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_COND, (*out)->pos, &cond));
        cond->b = *out;
        QR_TRY(parse_level(p, OR, &cond->a));
        if (qr_jinja_parser_accept_name(p, "else"))
            QR_TRY(qr_jinja_parse_expression(p, true, &cond->c));
        *out = cond;
    }
    p->depth--;
    return QUIRE_OK;
}

quire_status qr_jinja_parse_tuple(struct qr_jinja_parser *p, bool with_cond, const char *end,
                                  struct qr_jinja_node **out)
{
    const struct qr_jinja_token *first = p->t;
    struct qr_jinja_node *items = NULL, **tail = &items;
    bool is_tuple = false;
    for (;;) {
        const enum qr_jinja_token_type type = p->t->type;
        if (type == QR_JINJA_TOKEN_VAR_END || type == QR_JINJA_TOKEN_BLOCK_END ||
            qr_jinja_parser_at_op(p, ')') || (end && qr_jinja_parser_at_name(p, end)))
            break;
        QR_TRY(qr_jinja_parse_expression(p, with_cond, tail));
        tail = &(*tail)->next;
        if (!qr_jinja_parser_accept_op(p, ','))
            break;
        is_tuple = true;
    }
    if (!is_tuple && items) {
        *out = items;
        return QUIRE_OK;
    }
    /* An empty tuple requires parentheses; the lexer checks that they are balanced. */
    if (!items && !qr_jinja_parser_at_op(p, ')'))
        return qr_jinja_parser_unexpected(p, "an expression");
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_TUPLE, first->pos, out));
    (*out)->a = items;
    return QUIRE_OK;
}
