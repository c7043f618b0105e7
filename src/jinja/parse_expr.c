/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_parse_expr.c - expressions, from conditional expressions down to literals. */
#include "jinja/ast.h"
#include "jinja/call.h"

/* Binary levels from loosest to tightest; a level's operands are of the next one. */
enum level { OR, AND, NOT, COMPARE, SUM, CONCAT, PRODUCT, POWER, UNARY };

static quire_status parse_level(struct qr_j_parser *p, enum level level, struct qr_j_node **out);
static quire_status parse_unary(struct qr_j_parser *p, bool with_filter, struct qr_j_node **out);

/* The operator of this level at the current token (0: none), and how many tokens it has. */
static int operator_here(const struct qr_j_parser *p, enum level level, int *n_tokens)
{
    const int op = p->t->type == QR_J_T_OP ? p->t->op : 0;
    *n_tokens = 1;
    switch (level) {
    case OR:
        return qr_j_at_name(p, "or") ? 'o' : 0;
    case AND:
        return qr_j_at_name(p, "and") ? 'a' : 0;
    case COMPARE:
        if (qr_j_at_name(p, "in"))
            return QR_J_OP_IN;
        if (qr_j_at_name(p, "not")) {
            const struct qr_j_parser next = { .j = p->j, .t = p->t + 1 };
            *n_tokens = 2;
            return qr_j_at_name(&next, "in") ? QR_J_OP_NOT_IN : 0;
        }
        return op == '<' || op == '>' || (op >= QR_J_OP_EQ && op <= QR_J_OP_GE) ? op : 0;
    case SUM:
        return op == '+' || op == '-' ? op : 0;
    case CONCAT:
        return op == '~' ? op : 0;
    case PRODUCT:
        return op == '*' || op == '/' || op == '%' || op == QR_J_OP_FLOORDIV ? op : 0;
    case POWER:
        return op == QR_J_OP_POW ? op : 0;
    default:
        return 0;
    }
}

/* Operands of one level as a flat list, so that long chains need no recursion. */
static quire_status parse_chain(struct qr_j_parser *p, enum level level, struct qr_j_node **out)
{
    static const enum qr_j_kind kinds[] = { QR_J_E_OR,      QR_J_E_AND,   QR_J_E_NOT,
                                            QR_J_E_COMPARE, QR_J_E_ARITH, QR_J_E_CONCAT,
                                            QR_J_E_ARITH,   QR_J_E_ARITH };
    const size_t pos = p->t->pos;
    struct qr_j_node *first, *last, *chain = NULL;
    int op, n_tokens;
    QR_TRY(parse_level(p, level + 1, &first));
    last = first;
    while ((op = operator_here(p, level, &n_tokens))) {
        if (!chain)
            QR_TRY(qr_j_node(p, kinds[level], pos, &chain));
        while (n_tokens-- > 0)
            qr_j_advance(p);
        /* one node may not stand in two lists, and `next` of a parsed operand is free */
        QR_TRY(parse_level(p, level + 1, &last->next));
        last = last->next;
        last->op = (uint8_t)op;
    }
    if (chain)
        chain->a = first;
    *out = chain ? chain : first;
    return QUIRE_OK;
}

static quire_status parse_not(struct qr_j_parser *p, struct qr_j_node **out)
{
    if (!qr_j_at_name(p, "not"))
        return parse_level(p, COMPARE, out);
    QR_TRY(qr_j_parse_enter(p));
    QR_TRY(qr_j_node(p, QR_J_E_NOT, p->t->pos, out));
    qr_j_advance(p);
    QR_TRY(parse_not(p, &(*out)->a));
    p->depth--;
    return QUIRE_OK;
}

/* The two levels that are no chains have functions of their own. */
static quire_status parse_level(struct qr_j_parser *p, enum level level, struct qr_j_node **out)
{
    if (level == NOT)
        return parse_not(p, out);
    if (level == UNARY)
        return parse_unary(p, true, out);
    return parse_chain(p, level, out);
}

/* with_cond: `a if b else c` is allowed; not so where `if` means something else, as after for. */
quire_status qr_j_parse_expression(struct qr_j_parser *p, bool with_cond, struct qr_j_node **out)
{
    QR_TRY(qr_j_parse_enter(p));
    QR_TRY(parse_level(p, OR, out));
    while (with_cond && qr_j_skip_name(p, "if")) {
        struct qr_j_node *cond;
        QR_TRY(qr_j_node(p, QR_J_E_COND, (*out)->pos, &cond));
        cond->b = *out;
        QR_TRY(parse_level(p, OR, &cond->a));
        if (qr_j_skip_name(p, "else"))
            QR_TRY(qr_j_parse_expression(p, true, &cond->c));
        *out = cond;
    }
    p->depth--;
    return QUIRE_OK;
}

/* Expressions up to the closing bracket, which is taken. pairs: `key: value` instead of single
 * ones. */
static quire_status parse_items(struct qr_j_parser *p, int close, bool pairs,
                                struct qr_j_node **out)
{
    struct qr_j_node **tail = out;
    while (!qr_j_skip_op(p, close)) {
        if (tail != out) {
            QR_TRY(qr_j_expect_op(p, ','));
            if (qr_j_skip_op(p, close))
                break;
        }
        QR_TRY(qr_j_parse_expression(p, true, tail));
        tail = &(*tail)->next;
        if (pairs) {
            QR_TRY(qr_j_expect_op(p, ':'));
            QR_TRY(qr_j_parse_expression(p, true, tail));
            tail = &(*tail)->next;
        }
    }
    return QUIRE_OK;
}

quire_status qr_j_parse_tuple(struct qr_j_parser *p, bool with_cond, const char *end,
                              struct qr_j_node **out)
{
    const struct qr_j_token *first = p->t;
    struct qr_j_node *items = NULL, **tail = &items;
    bool is_tuple = false;
    for (;;) {
        const enum qr_j_token_type type = p->t->type;
        if (type == QR_J_T_VAR_END || type == QR_J_T_BLOCK_END || qr_j_at_op(p, ')') ||
            (end && qr_j_at_name(p, end)))
            break;
        QR_TRY(qr_j_parse_expression(p, with_cond, tail));
        tail = &(*tail)->next;
        if (!qr_j_skip_op(p, ','))
            break;
        is_tuple = true;
    }
    if (!is_tuple && items) {
        *out = items;
        return QUIRE_OK;
    }
    /* an empty tuple needs its parentheses; the lexer saw to it that a `)` has an opening one */
    if (!items && !qr_j_at_op(p, ')'))
        return qr_j_unexpected(p, "an expression");
    QR_TRY(qr_j_node(p, QR_J_E_TUPLE, first->pos, out));
    (*out)->a = items;
    return QUIRE_OK;
}

static const struct {
    const char *name;
    struct qr_j_value value;
} constants[] = {
    { "true", { .type = QR_J_BOOL, .b = true } },
    { "True", { .type = QR_J_BOOL, .b = true } },
    { "false", { .type = QR_J_BOOL, .b = false } },
    { "False", { .type = QR_J_BOOL, .b = false } },
    { "none", { .type = QR_J_NONE } },
    { "None", { .type = QR_J_NONE } },
};

/* The value of a name that is a constant, or NULL. */
static const struct qr_j_value *constant_here(const struct qr_j_parser *p)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (qr_j_at_name(p, constants[i].name))
            return &constants[i].value;
    return NULL;
}

static quire_status parse_name(struct qr_j_parser *p, struct qr_j_node **out)
{
    const struct qr_j_value *constant = constant_here(p);
    if (constant) {
        QR_TRY(qr_j_node(p, QR_J_E_CONST, p->t->pos, out));
        (*out)->value = *constant;
        qr_j_advance(p);
        return QUIRE_OK;
    }
    if (qr_j_at_name(p, "caller"))
        *p->macro_flags |= QR_J_USES_CALLER;
    else if (qr_j_at_name(p, "kwargs"))
        *p->macro_flags |= QR_J_USES_KWARGS;
    else if (qr_j_at_name(p, "varargs"))
        *p->macro_flags |= QR_J_USES_VARARGS;
    QR_TRY(qr_j_node(p, QR_J_E_NAME, p->t->pos, out));
    return qr_j_take_name(p, &(*out)->value);
}

/* Adjacent string literals are one. */
static quire_status parse_string(struct qr_j_parser *p, struct qr_j_node **out)
{
    QR_TRY(qr_j_node(p, QR_J_E_CONST, p->t->pos, out));
    struct qr_j_value *v = &(*out)->value, next;
    QR_TRY(qr_j_text(p->j, p->t->p, p->t->n, false, v));
    for (qr_j_advance(p); p->t->type == QR_J_T_STRING; qr_j_advance(p)) {
        QR_TRY(qr_j_text(p->j, p->t->p, p->t->n, false, &next));
        QR_TRY(qr_j_concat(p->j, v->s, next.s, v));
    }
    if (v->s->grown) /* shared by renders from now on: nobody may append to it */
        QR_TRY(qr_j_text(p->j, v->s->p, v->s->n, false, v));
    return QUIRE_OK;
}

/* Names, literals and everything in brackets. */
static quire_status parse_primary(struct qr_j_parser *p, struct qr_j_node **out)
{
    const struct qr_j_token *t = p->t;
    switch (t->type) {
    case QR_J_T_NAME:
        return parse_name(p, out);
    case QR_J_T_STRING:
        return parse_string(p, out);
    case QR_J_T_INT:
    case QR_J_T_FLOAT:
        QR_TRY(qr_j_node(p, QR_J_E_CONST, t->pos, out));
        (*out)->value = t->type == QR_J_T_INT ? qr_j_int(t->i) : qr_j_float(t->f);
        qr_j_advance(p);
        return QUIRE_OK;
    default:
        break;
    }
    if (qr_j_skip_op(p, '(')) {
        QR_TRY(qr_j_parse_tuple(p, true, NULL, out));
        return qr_j_expect_op(p, ')');
    }
    if (qr_j_skip_op(p, '[')) {
        QR_TRY(qr_j_node(p, QR_J_E_LIST, t->pos, out));
        return parse_items(p, ']', false, &(*out)->a);
    }
    if (qr_j_skip_op(p, '{')) {
        QR_TRY(qr_j_node(p, QR_J_E_DICT, t->pos, out));
        return parse_items(p, '}', true, &(*out)->a);
    }
    return qr_j_unexpected(p, "an expression");
}

/* Arguments; the opening parenthesis is the current token. */
static quire_status parse_args(struct qr_j_parser *p, struct qr_j_node **out)
{
    struct qr_j_node **tail = out;
    uint8_t last = 0; /* kinds come in the order: positional, keyword, sequence, mapping */
    QR_TRY(qr_j_expect_op(p, '('));
    while (!qr_j_skip_op(p, ')')) {
        if (tail != out) {
            QR_TRY(qr_j_expect_op(p, ','));
            if (qr_j_skip_op(p, ')'))
                break;
        }
        struct qr_j_node *arg;
        QR_TRY(qr_j_node(p, QR_J_ARG, p->t->pos, &arg));
        if (qr_j_skip_op(p, '*')) {
            arg->op = '*';
        } else if (qr_j_skip_op(p, QR_J_OP_POW)) {
            arg->op = 'd';
        } else if (p->t->type == QR_J_T_NAME && p->t[1].type == QR_J_T_OP && p->t[1].op == '=') {
            arg->op = 'k';
            QR_TRY(qr_j_take_name(p, &arg->value));
            qr_j_advance(p);
        }
        const bool wrong_order = last == 'd' || (last == '*' && arg->op != 'd' && arg->op != 'k') ||
                                 (last == 'k' && arg->op == 0);
        if (wrong_order)
            return qr_j_syntax_error(p, "invalid syntax for function call expression");
        if (!(last == '*' && arg->op == 'k'))
            last = arg->op;
        QR_TRY(qr_j_parse_expression(p, true, &arg->a));
        *tail = arg;
        tail = &arg->next;
    }
    return QUIRE_OK;
}

/* What stands between [ and ]: an index, a tuple of them, or a slice. `item` is prepared as
 * E_ITEM. */
static quire_status parse_subscript(struct qr_j_parser *p, struct qr_j_node *item)
{
    if (!qr_j_at_op(p, ':')) {
        QR_TRY(qr_j_parse_expression(p, true, &item->b));
        if (qr_j_at_op(p, ',')) { /* a[1, 2] */
            struct qr_j_node *tuple, **tail = &item->b->next;
            QR_TRY(qr_j_node(p, QR_J_E_TUPLE, item->pos, &tuple));
            tuple->a = item->b;
            item->b = tuple;
            while (qr_j_skip_op(p, ',')) {
                QR_TRY(qr_j_parse_expression(p, true, tail));
                tail = &(*tail)->next;
            }
        }
        if (!qr_j_at_op(p, ':'))
            return qr_j_expect_op(p, ']');
    }
    item->kind = QR_J_E_SLICE;
    qr_j_advance(p);
    if (!qr_j_at_op(p, ':') && !qr_j_at_op(p, ']'))
        QR_TRY(qr_j_parse_expression(p, true, &item->c));
    if (qr_j_skip_op(p, ':') && !qr_j_at_op(p, ']'))
        QR_TRY(qr_j_parse_expression(p, true, &item->d));
    return qr_j_expect_op(p, ']');
}

/* a.b, a[b] and a(b), as often as they come. */
static quire_status parse_postfix(struct qr_j_parser *p, struct qr_j_node **out)
{
    for (;;) {
        struct qr_j_node *outer;
        const size_t pos = p->t->pos;
        if (qr_j_skip_op(p, '.')) {
            QR_TRY(qr_j_node(p, QR_J_E_ATTR, pos, &outer));
            if (p->t->type == QR_J_T_INT) { /* a.0 is a[0] */
                outer->kind = QR_J_E_ITEM;
                QR_TRY(qr_j_node(p, QR_J_E_CONST, pos, &outer->b));
                outer->b->value = qr_j_int(p->t->i);
                qr_j_advance(p);
            } else {
                QR_TRY(qr_j_take_name(p, &outer->value));
            }
        } else if (qr_j_skip_op(p, '[')) {
            QR_TRY(qr_j_node(p, QR_J_E_ITEM, pos, &outer));
            QR_TRY(parse_subscript(p, outer));
        } else if (qr_j_at_op(p, '(')) {
            QR_TRY(qr_j_node(p, QR_J_E_CALL, pos, &outer));
            QR_TRY(parse_args(p, &outer->b));
        } else {
            return QUIRE_OK;
        }
        outer->a = *out;
        *out = outer;
    }
}

/* Name of a filter or test, which may contain dots, and its arguments in parentheses if there are
 * any. */
static quire_status parse_callee(struct qr_j_parser *p, struct qr_j_node *n)
{
    QR_TRY(qr_j_take_name(p, &n->value));
    while (qr_j_skip_op(p, '.')) {
        struct qr_j_value part;
        struct qr_j_sb sb;
        qr_j_sb_init(&sb, p->j);
        QR_TRY(qr_j_take_name(p, &part));
        QR_TRY(qr_j_sb_str(&sb, n->value.s));
        QR_TRY(qr_j_sb_addz(&sb, "."));
        QR_TRY(qr_j_sb_str(&sb, part.s));
        QR_TRY(qr_j_sb_done(&sb, &n->value));
    }
    n->fn = n->kind == QR_J_E_FILTER ? qr_j_filter_find(n->value.s) : qr_j_test_find(n->value.s);
    return qr_j_at_op(p, '(') ? parse_args(p, &n->b) : QUIRE_OK;
}

/* The single argument a test may have without parentheses: `x is divisibleby 3`. */
static quire_status parse_bare_test_arg(struct qr_j_parser *p, struct qr_j_node *test)
{
    const enum qr_j_token_type type = p->t->type;
    const bool starts = type == QR_J_T_NAME || type == QR_J_T_STRING || type == QR_J_T_INT ||
                        type == QR_J_T_FLOAT || qr_j_at_op(p, '[') || qr_j_at_op(p, '{');
    if (!starts || qr_j_at_name(p, "else") || qr_j_at_name(p, "or") || qr_j_at_name(p, "and"))
        return QUIRE_OK;
    if (qr_j_at_name(p, "is"))
        return qr_j_syntax_error(p, "You cannot chain multiple tests with is");
    QR_TRY(qr_j_node(p, QR_J_ARG, p->t->pos, &test->b));
    QR_TRY(parse_primary(p, &test->b->a));
    return parse_postfix(p, &test->b->a);
}

static quire_status parse_test(struct qr_j_parser *p, struct qr_j_node **out)
{
    struct qr_j_node *test, *negation;
    const size_t pos = p->t->pos;
    qr_j_advance(p); /* is */
    const bool negated = qr_j_skip_name(p, "not");
    QR_TRY(qr_j_node(p, QR_J_E_TEST, pos, &test));
    QR_TRY(parse_callee(p, test));
    if (p->t[-1].type == QR_J_T_NAME) /* there were no parentheses */
        QR_TRY(parse_bare_test_arg(p, test));
    test->a = *out;
    *out = test;
    if (negated) {
        QR_TRY(qr_j_node(p, QR_J_E_NOT, pos, &negation));
        negation->a = test;
        *out = negation;
    }
    return QUIRE_OK;
}

quire_status qr_j_parse_filter_chain(struct qr_j_parser *p, struct qr_j_node **out)
{
    struct qr_j_node *input = NULL;
    do {
        QR_TRY(qr_j_node(p, QR_J_E_FILTER, p->t->pos, out));
        (*out)->a = input;
        QR_TRY(parse_callee(p, *out));
        input = *out;
    } while (qr_j_skip_op(p, '|'));
    return QUIRE_OK;
}

/* Filters, tests and calls behind an operand. */
static quire_status parse_filters(struct qr_j_parser *p, struct qr_j_node **out)
{
    for (;;) {
        struct qr_j_node *outer;
        const size_t pos = p->t->pos;
        if (qr_j_skip_op(p, '|')) {
            QR_TRY(qr_j_node(p, QR_J_E_FILTER, pos, &outer));
            QR_TRY(parse_callee(p, outer));
            outer->a = *out;
            *out = outer;
        } else if (qr_j_at_name(p, "is")) {
            QR_TRY(parse_test(p, out));
        } else if (qr_j_at_op(p, '(')) {
            QR_TRY(qr_j_node(p, QR_J_E_CALL, pos, &outer));
            QR_TRY(parse_args(p, &outer->b));
            outer->a = *out;
            *out = outer;
        } else {
            return QUIRE_OK;
        }
    }
}

/* A sign binds tighter than filters here: -1|abs is (-1)|abs. */
static quire_status parse_unary(struct qr_j_parser *p, bool with_filter, struct qr_j_node **out)
{
    const bool neg = qr_j_at_op(p, '-');
    if (neg || qr_j_at_op(p, '+')) {
        QR_TRY(qr_j_parse_enter(p));
        QR_TRY(qr_j_node(p, neg ? QR_J_E_NEG : QR_J_E_POS, p->t->pos, out));
        qr_j_advance(p);
        QR_TRY(parse_unary(p, false, &(*out)->a));
        p->depth--;
    } else {
        QR_TRY(parse_primary(p, out));
    }
    QR_TRY(parse_postfix(p, out));
    return with_filter ? parse_filters(p, out) : QUIRE_OK;
}

quire_status qr_j_parse_target(struct qr_j_parser *p, bool namespaces, const char *end,
                               struct qr_j_node **out)
{
    struct qr_j_node *items = NULL, **tail = &items;
    const size_t pos = p->t->pos;
    bool is_tuple = false;
    do {
        if (tail != &items &&
            (qr_j_at_op(p, ')') || qr_j_at_op(p, '=') || (end && qr_j_at_name(p, end))))
            break;
        if (qr_j_skip_op(p, '(')) { /* nested: for a, (b, c) in ... */
            QR_TRY(qr_j_parse_enter(p));
            QR_TRY(qr_j_parse_target(p, namespaces, NULL, tail));
            QR_TRY(qr_j_expect_op(p, ')'));
            p->depth--;
        } else {
            QR_TRY(qr_j_node(p, QR_J_E_NAME, p->t->pos, tail));
            if (constant_here(p))
                return qr_j_syntax_error(p, "can't assign to 'const'");
            QR_TRY(qr_j_take_name(p, &(*tail)->value));
            if (namespaces && qr_j_skip_op(p, '.')) {
                (*tail)->kind = QR_J_E_NSREF;
                QR_TRY(qr_j_node(p, QR_J_E_CONST, p->t->pos, &(*tail)->a));
                QR_TRY(qr_j_take_name(p, &(*tail)->a->value));
            }
        }
        tail = &(*tail)->next;
        is_tuple = is_tuple || qr_j_at_op(p, ',');
    } while (qr_j_skip_op(p, ','));
    *out = items;
    if (is_tuple) {
        QR_TRY(qr_j_node(p, QR_J_E_TUPLE, pos, out));
        (*out)->a = items;
    }
    return QUIRE_OK;
}
