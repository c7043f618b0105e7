/* SPDX-License-Identifier: Apache-2.0 */
/* parse_operand.c - parses operands, their postfix operators, filters and tests, and targets. */
#include "jinja/parse_operand.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/builtin_tests.h"
#include "jinja/filter.h"
#include "jinja/lexer.h"
#include "jinja/parse_expr.h"
#include "jinja/parser.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/value.h"

static const struct {
    const char *name;
    struct qr_jinja_value value;
} constants[] = {
    { "true", { .type = QR_JINJA_BOOL, .b = true } },
    { "True", { .type = QR_JINJA_BOOL, .b = true } },
    { "false", { .type = QR_JINJA_BOOL, .b = false } },
    { "False", { .type = QR_JINJA_BOOL, .b = false } },
    { "none", { .type = QR_JINJA_NONE } },
    { "None", { .type = QR_JINJA_NONE } },
};

/* Value of the current token if it names a constant, else NULL. */
static const struct qr_jinja_value *current_constant(const struct qr_jinja_parser *p)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (qr_jinja_parser_at_name(p, constants[i].name))
            return &constants[i].value;
    return NULL;
}

/* Parses expressions up to and including the closing bracket. pairs: `key: value`. */
static quire_status parse_items(struct qr_jinja_parser *p, int close, bool pairs,
                                struct qr_jinja_node **out)
{
    struct qr_jinja_node **tail = out;
    while (!qr_jinja_parser_accept_op(p, close)) {
        if (tail != out) {
            QR_TRY(qr_jinja_parser_expect_op(p, ','));
            if (qr_jinja_parser_accept_op(p, close))
                break;
        }
        QR_TRY(qr_jinja_parse_expression(p, true, tail));
        tail = &(*tail)->next;
        if (pairs) {
            QR_TRY(qr_jinja_parser_expect_op(p, ':'));
            QR_TRY(qr_jinja_parse_expression(p, true, tail));
            tail = &(*tail)->next;
        }
    }
    return QUIRE_OK;
}

static quire_status parse_name(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    const struct qr_jinja_value *constant = current_constant(p);
    if (constant) {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CONST, p->t->pos, out));
        (*out)->value = *constant;
        qr_jinja_parser_advance(p);
        return QUIRE_OK;
    }
    if (qr_jinja_parser_at_name(p, "caller"))
        *p->macro_flags |= QR_JINJA_USES_CALLER;
    else if (qr_jinja_parser_at_name(p, "kwargs"))
        *p->macro_flags |= QR_JINJA_USES_KWARGS;
    else if (qr_jinja_parser_at_name(p, "varargs"))
        *p->macro_flags |= QR_JINJA_USES_VARARGS;
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_NAME, p->t->pos, out));
    return qr_jinja_parser_take_name(p, &(*out)->value);
}

/* Concatenates adjacent string literals. */
static quire_status parse_string(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CONST, p->t->pos, out));
    struct qr_jinja_value *v = &(*out)->value, next;
    QR_TRY(qr_jinja_str_borrow(p->j, p->t->p, p->t->n, false, v));
    for (qr_jinja_parser_advance(p); p->t->type == QR_JINJA_TOKEN_STRING;
         qr_jinja_parser_advance(p)) {
        QR_TRY(qr_jinja_str_borrow(p->j, p->t->p, p->t->n, false, &next));
        QR_TRY(qr_jinja_str_concat(p->j, v->s, next.s, v));
    }
    if (v->s->builder) /* renders share it and must not append to it */
        QR_TRY(qr_jinja_str_borrow(p->j, v->s->p, v->s->n, false, v));
    return QUIRE_OK;
}

/* Names, literals and bracketed expressions. */
static quire_status parse_primary(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    const struct qr_jinja_token *t = p->t;
    switch (t->type) {
    case QR_JINJA_TOKEN_NAME:
        return parse_name(p, out);
    case QR_JINJA_TOKEN_STRING:
        return parse_string(p, out);
    case QR_JINJA_TOKEN_INT:
    case QR_JINJA_TOKEN_FLOAT:
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CONST, t->pos, out));
        (*out)->value = t->type == QR_JINJA_TOKEN_INT ? qr_jinja_int(t->i) : qr_jinja_float(t->f);
        qr_jinja_parser_advance(p);
        return QUIRE_OK;
    default:
        break;
    }
    if (qr_jinja_parser_accept_op(p, '(')) {
        QR_TRY(qr_jinja_parse_tuple(p, true, NULL, out));
        return qr_jinja_parser_expect_op(p, ')');
    }
    if (qr_jinja_parser_accept_op(p, '[')) {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_LIST, t->pos, out));
        return parse_items(p, ']', false, &(*out)->a);
    }
    if (qr_jinja_parser_accept_op(p, '{')) {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_DICT, t->pos, out));
        return parse_items(p, '}', true, &(*out)->a);
    }
    return qr_jinja_parser_unexpected(p, "an expression");
}

/* Parses arguments; the current token is the opening parenthesis. */
static quire_status parse_args(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    struct qr_jinja_node **tail = out;
    uint8_t last = QR_JINJA_ARG_POSITIONAL; /* order: positional, keyword, *, ** */
    qr_jinja_parser_advance(p);
    while (!qr_jinja_parser_accept_op(p, ')')) {
        if (tail != out) {
            QR_TRY(qr_jinja_parser_expect_op(p, ','));
            if (qr_jinja_parser_accept_op(p, ')'))
                break;
        }
        struct qr_jinja_node *arg;
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_ARG, p->t->pos, &arg));
        if (qr_jinja_parser_accept_op(p, '*')) {
            arg->op = QR_JINJA_ARG_UNPACK;
        } else if (qr_jinja_parser_accept_op(p, QR_JINJA_OP_POW)) {
            arg->op = QR_JINJA_ARG_UNPACK_DICT;
        } else if (p->t->type == QR_JINJA_TOKEN_NAME && p->t[1].type == QR_JINJA_TOKEN_OP &&
                   p->t[1].op == '=') {
            arg->op = QR_JINJA_ARG_KEYWORD;
            QR_TRY(qr_jinja_parser_take_name(p, &arg->value));
            qr_jinja_parser_advance(p);
        }
        const bool wrong_order =
            last == QR_JINJA_ARG_UNPACK_DICT ||
            (last == QR_JINJA_ARG_UNPACK && arg->op != QR_JINJA_ARG_UNPACK_DICT &&
             arg->op != QR_JINJA_ARG_KEYWORD) ||
            (last == QR_JINJA_ARG_KEYWORD && arg->op == QR_JINJA_ARG_POSITIONAL);
        if (wrong_order)
            return qr_jinja_parser_error(p, "invalid syntax for function call expression");
        if (!(last == QR_JINJA_ARG_UNPACK && arg->op == QR_JINJA_ARG_KEYWORD))
            last = arg->op;
        QR_TRY(qr_jinja_parse_expression(p, true, &arg->a));
        *tail = arg;
        tail = &arg->next;
    }
    return QUIRE_OK;
}

/* Parses a subscript after its [: an index, a tuple of indices, or a slice. item is an EXPR_ITEM
 * and becomes an EXPR_SLICE for a slice. */
static quire_status parse_subscript(struct qr_jinja_parser *p, struct qr_jinja_node *item)
{
    if (!qr_jinja_parser_at_op(p, ':')) {
        QR_TRY(qr_jinja_parse_expression(p, true, &item->b));
        if (qr_jinja_parser_at_op(p, ',')) { /* a[1, 2] */
            struct qr_jinja_node *tuple, **tail = &item->b->next;
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_TUPLE, item->pos, &tuple));
            tuple->a = item->b;
            item->b = tuple;
            while (qr_jinja_parser_accept_op(p, ',')) {
                QR_TRY(qr_jinja_parse_expression(p, true, tail));
                tail = &(*tail)->next;
            }
        }
        if (!qr_jinja_parser_at_op(p, ':'))
            return qr_jinja_parser_expect_op(p, ']');
    }
    item->kind = QR_JINJA_EXPR_SLICE;
    qr_jinja_parser_advance(p);
    if (!qr_jinja_parser_at_op(p, ':') && !qr_jinja_parser_at_op(p, ']'))
        QR_TRY(qr_jinja_parse_expression(p, true, &item->c));
    if (qr_jinja_parser_accept_op(p, ':') && !qr_jinja_parser_at_op(p, ']'))
        QR_TRY(qr_jinja_parse_expression(p, true, &item->d));
    return qr_jinja_parser_expect_op(p, ']');
}

/* Postfix operators: a.b, a[b] and a(b), repeatedly. */
static quire_status parse_postfix(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    for (;;) {
        struct qr_jinja_node *outer;
        const size_t pos = p->t->pos;
        if (qr_jinja_parser_accept_op(p, '.')) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_ATTR, pos, &outer));
            if (p->t->type == QR_JINJA_TOKEN_INT) { /* a.0 is a[0] */
                outer->kind = QR_JINJA_EXPR_ITEM;
                QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CONST, pos, &outer->b));
                outer->b->value = qr_jinja_int(p->t->i);
                qr_jinja_parser_advance(p);
            } else {
                QR_TRY(qr_jinja_parser_take_name(p, &outer->value));
            }
        } else if (qr_jinja_parser_accept_op(p, '[')) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_ITEM, pos, &outer));
            QR_TRY(parse_subscript(p, outer));
        } else if (qr_jinja_parser_at_op(p, '(')) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CALL, pos, &outer));
            QR_TRY(parse_args(p, &outer->b));
        } else {
            return QUIRE_OK;
        }
        outer->a = *out;
        *out = outer;
    }
}

/* Parses the name of a filter or test, which may contain dots, and its optional arguments. */
static quire_status parse_callee(struct qr_jinja_parser *p, struct qr_jinja_node *n)
{
    QR_TRY(qr_jinja_parser_take_name(p, &n->value));
    while (qr_jinja_parser_accept_op(p, '.')) {
        struct qr_jinja_value part;
        struct qr_jinja_sb sb;
        qr_jinja_sb_init(&sb, p->j);
        QR_TRY(qr_jinja_parser_take_name(p, &part));
        QR_TRY(qr_jinja_sb_append_str(&sb, n->value.s));
        /* GCOVR_EXCL_BR_LINE: the builder has room for more than the name, and the parser has no
         * budget but memory. */
        QR_TRY(qr_jinja_sb_append_literal(&sb, "."));
        QR_TRY(qr_jinja_sb_append_str(&sb, part.s));
        QR_TRY(qr_jinja_sb_finish(&sb, &n->value));
    }
    n->fn = n->kind == QR_JINJA_EXPR_FILTER ? qr_jinja_filter_find(n->value.s)
                                            : qr_jinja_test_find(n->value.s);
    return qr_jinja_parser_at_op(p, '(') ? parse_args(p, &n->b) : QUIRE_OK;
}

/* Parses the single argument without parentheses of a test: `x is divisibleby 3`. */
static quire_status parse_bare_test_arg(struct qr_jinja_parser *p, struct qr_jinja_node *test)
{
    const enum qr_jinja_token_type type = p->t->type;
    const bool starts = type == QR_JINJA_TOKEN_NAME || type == QR_JINJA_TOKEN_STRING ||
                        type == QR_JINJA_TOKEN_INT || type == QR_JINJA_TOKEN_FLOAT ||
                        qr_jinja_parser_at_op(p, '[') || qr_jinja_parser_at_op(p, '{');
    if (!starts || qr_jinja_parser_at_name(p, "else") || qr_jinja_parser_at_name(p, "or") ||
        qr_jinja_parser_at_name(p, "and"))
        return QUIRE_OK;
    if (qr_jinja_parser_at_name(p, "is"))
        return qr_jinja_parser_error(p, "You cannot chain multiple tests with is");
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_ARG, p->t->pos, &test->b));
    QR_TRY(parse_primary(p, &test->b->a));
    return parse_postfix(p, &test->b->a);
}

static quire_status parse_test(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    struct qr_jinja_node *test, *negation;
    const size_t pos = p->t->pos;
    qr_jinja_parser_advance(p); /* is */
    const bool negated = qr_jinja_parser_accept_name(p, "not");
    QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_TEST, pos, &test));
    QR_TRY(parse_callee(p, test));
    if (p->t[-1].type == QR_JINJA_TOKEN_NAME) /* no parentheses */
        QR_TRY(parse_bare_test_arg(p, test));
    test->a = *out;
    *out = test;
    if (negated) {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_NOT, pos, &negation));
        negation->a = test;
        *out = negation;
    }
    return QUIRE_OK;
}

quire_status qr_jinja_parse_filter_chain(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    struct qr_jinja_node *input = NULL;
    do {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_FILTER, p->t->pos, out));
        (*out)->a = input;
        QR_TRY(parse_callee(p, *out));
        input = *out;
    } while (qr_jinja_parser_accept_op(p, '|'));
    return QUIRE_OK;
}

/* Filters, tests and calls after an operand. */
static quire_status parse_filters(struct qr_jinja_parser *p, struct qr_jinja_node **out)
{
    for (;;) {
        struct qr_jinja_node *outer;
        const size_t pos = p->t->pos;
        if (qr_jinja_parser_accept_op(p, '|')) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_FILTER, pos, &outer));
            QR_TRY(parse_callee(p, outer));
            outer->a = *out;
            *out = outer;
        } else if (qr_jinja_parser_at_name(p, "is")) {
            QR_TRY(parse_test(p, out));
        } else if (qr_jinja_parser_at_op(p, '(')) {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CALL, pos, &outer));
            QR_TRY(parse_args(p, &outer->b));
            outer->a = *out;
            *out = outer;
        } else {
            return QUIRE_OK;
        }
    }
}

/* A sign binds tighter than filters: -1|abs is (-1)|abs. */
quire_status qr_jinja_parse_unary(struct qr_jinja_parser *p, bool with_filter,
                                  struct qr_jinja_node **out)
{
    const bool neg = qr_jinja_parser_at_op(p, '-');
    if (neg || qr_jinja_parser_at_op(p, '+')) {
        QR_TRY(qr_jinja_parser_enter(p));
        QR_TRY(
            qr_jinja_node_new(p->j, neg ? QR_JINJA_EXPR_NEG : QR_JINJA_EXPR_POS, p->t->pos, out));
        qr_jinja_parser_advance(p);
        QR_TRY(qr_jinja_parse_unary(p, false, &(*out)->a));
        p->depth--;
    } else {
        QR_TRY(parse_primary(p, out));
    }
    QR_TRY(parse_postfix(p, out));
    return with_filter ? parse_filters(p, out) : QUIRE_OK;
}

quire_status qr_jinja_parse_target(struct qr_jinja_parser *p, bool namespaces, const char *end,
                                   struct qr_jinja_node **out)
{
    struct qr_jinja_node *items = NULL, **tail = &items;
    const size_t pos = p->t->pos;
    bool is_tuple = false;
    do {
        if (tail != &items &&
            (qr_jinja_parser_at_op(p, ')') || (end && qr_jinja_parser_at_name(p, end))))
            break;
        if (qr_jinja_parser_accept_op(p, '(')) { /* nested target: for a, (b, c) in ... */
            QR_TRY(qr_jinja_parser_enter(p));
            QR_TRY(qr_jinja_parse_target(p, namespaces, NULL, tail));
            QR_TRY(qr_jinja_parser_expect_op(p, ')'));
            p->depth--;
        } else {
            QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_NAME, p->t->pos, tail));
            if (current_constant(p))
                return qr_jinja_parser_error(p, "can't assign to 'const'");
            QR_TRY(qr_jinja_parser_take_name(p, &(*tail)->value));
            if (namespaces && qr_jinja_parser_accept_op(p, '.')) {
                (*tail)->kind = QR_JINJA_EXPR_NSREF;
                QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_CONST, p->t->pos, &(*tail)->a));
                QR_TRY(qr_jinja_parser_take_name(p, &(*tail)->a->value));
            }
        }
        QR_INVARIANT(*tail); /* without an error there is a node */
        tail = &(*tail)->next;
        is_tuple = is_tuple || qr_jinja_parser_at_op(p, ',');
    } while (qr_jinja_parser_accept_op(p, ','));
    *out = items;
    if (is_tuple) {
        QR_TRY(qr_jinja_node_new(p->j, QR_JINJA_EXPR_TUPLE, pos, out));
        (*out)->a = items;
    }
    return QUIRE_OK;
}
