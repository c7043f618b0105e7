/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - evaluates expressions. */
#include "jinja/eval.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/arith.h"
#include "jinja/ast.h"
#include "jinja/attr.h"
#include "jinja/builtin.h"
#include "jinja/call.h"
#include "jinja/compare.h"
#include "jinja/dict.h"
#include "jinja/globals.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/scope.h"
#include "jinja/slice.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/value.h"

/* Variables shadow global functions. */
static quire_status eval_name(struct qr_jinja *j, const struct qr_jinja_scope *scope,
                              struct qr_jinja_value name, struct qr_jinja_value *out)
{
    struct qr_jinja_value *variable;
    QR_TRY(qr_jinja_scope_find(j, scope, name, &variable));
    if (variable) {
        *out = *variable;
        return QUIRE_OK;
    }
    const struct qr_jinja_builtin *global = qr_jinja_global_find(name.s);
    if (!global)
        return qr_jinja_undefined_name(j, name, out);
    *out = (struct qr_jinja_value){ .type = QR_JINJA_FUNCTION, .fn = global };
    return QUIRE_OK;
}

static size_t list_length(const struct qr_jinja_node *n)
{
    size_t count = 0;
    for (; n; n = n->next)
        count++;
    return count;
}

static quire_status eval_list(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    size_t i = 0;
    QR_TRY(qr_jinja_list_new(
        j, n->kind == QR_JINJA_EXPR_TUPLE ? QR_JINJA_LIST_TUPLE : QR_JINJA_LIST_PLAIN,
        list_length(n->a), &l));
    for (const struct qr_jinja_node *item = n->a; item; item = item->next)
        QR_TRY(qr_jinja_eval(j, scope, item, &l->items[i++]));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status eval_dict(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(qr_jinja_dict_new(j, &d));
    for (const struct qr_jinja_node *item = n->a; item; item = item->next->next) {
        struct qr_jinja_value key, value;
        QR_TRY(qr_jinja_eval(j, scope, item, &key));
        QR_TRY(qr_jinja_eval(j, scope, item->next, &value));
        QR_TRY(qr_jinja_dict_set(j, d, key, value));
    }
    *out = qr_jinja_dict_value(d);
    return QUIRE_OK;
}

/* and, or: yields the deciding operand, not its truth value. */
static quire_status eval_logic(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    for (const struct qr_jinja_node *operand = n->a; operand; operand = operand->next) {
        QR_TRY(qr_jinja_eval(j, scope, operand, out));
        if (qr_jinja_truth(*out) == (n->kind == QR_JINJA_EXPR_OR))
            break;
    }
    return QUIRE_OK;
}

static quire_status compare(struct qr_jinja *j, int op, struct qr_jinja_value a,
                            struct qr_jinja_value b, bool *out)
{
    switch (op) {
    case QR_JINJA_OP_EQ:
        return qr_jinja_equal(j, a, b, out);
    case QR_JINJA_OP_NE:
        QR_TRY(qr_jinja_equal(j, a, b, out));
        *out = !*out;
        return QUIRE_OK;
    case QR_JINJA_OP_IN:
        return qr_jinja_contains(j, a, b, out);
    case QR_JINJA_OP_NOT_IN:
        QR_TRY(qr_jinja_contains(j, a, b, out));
        *out = !*out;
        return QUIRE_OK;
    case '<':
        return qr_jinja_order(j, QR_JINJA_LT, a, b, out);
    case '>':
        return qr_jinja_order(j, QR_JINJA_GT, a, b, out);
    case QR_JINJA_OP_LE:
        return qr_jinja_order(j, QR_JINJA_LE, a, b, out);
    default:
        return qr_jinja_order(j, QR_JINJA_GE, a, b, out);
    }
}

/* a < b < c: evaluates each operand once, and stops after the first comparison that is false. */
static quire_status eval_compare(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                 const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value left, right;
    bool holds = true;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &left));
    for (const struct qr_jinja_node *operand = n->a->next; holds && operand;
         operand = operand->next) {
        QR_TRY(qr_jinja_eval(j, scope, operand, &right));
        QR_TRY(compare(j, operand->op, left, right, &holds));
        left = right;
    }
    *out = qr_jinja_bool(holds);
    return QUIRE_OK;
}

/* Left-associative, so that qr_jinja_str_concat appends strings in place. */
static quire_status eval_arith(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value right;
    QR_TRY(qr_jinja_eval(j, scope, n->a, out));
    for (const struct qr_jinja_node *operand = n->a->next; operand; operand = operand->next) {
        QR_TRY(qr_jinja_eval(j, scope, operand, &right));
        j->pos = n->pos;
        QR_TRY(qr_jinja_binary_op(j, operand->op, *out, right, out));
    }
    return QUIRE_OK;
}

/* The operator ~ converts its operands with str(). */
static quire_status eval_concat(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    struct qr_jinja_value v;
    qr_jinja_sb_init(&sb, j);
    for (const struct qr_jinja_node *operand = n->a; operand; operand = operand->next) {
        QR_TRY(qr_jinja_eval(j, scope, operand, &v));
        QR_TRY(qr_jinja_print_str(&sb, v));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* Without `else` a false test yields undefined. */
static quire_status eval_cond(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value test;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &test));
    if (qr_jinja_truth(test))
        return qr_jinja_eval(j, scope, n->b, out);
    if (n->c)
        return qr_jinja_eval(j, scope, n->c, out);
    return qr_jinja_undefined_hint(
        j, "the inline if-expression evaluated to false and no else section was defined.", out);
}

static quire_status eval_item(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value obj, key;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &obj));
    QR_TRY(qr_jinja_eval(j, scope, n->b, &key));
    j->pos = n->pos;
    return qr_jinja_getitem(j, obj, key, out);
}

static quire_status eval_slice(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value obj, part[3];
    const struct qr_jinja_node *const nodes[3] = { n->b, n->c, n->d };
    QR_TRY(qr_jinja_eval(j, scope, n->a, &obj));
    for (int i = 0; i < 3; i++) {
        part[i] = qr_jinja_missing();
        if (nodes[i])
            QR_TRY(qr_jinja_eval(j, scope, nodes[i], &part[i]));
    }
    j->pos = n->pos;
    return qr_jinja_slice(j, obj, part, out);
}

/* Evaluates the callee before the arguments, as Python does. */
static quire_status eval_call(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value callee;
    struct qr_jinja_args args;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &callee));
    QR_TRY(qr_jinja_eval_args(j, scope, n->b, &args));
    j->pos = n->pos;
    return qr_jinja_call_value(j, callee, &args, out);
}

/* x|name(args), and x is name(args). */
static quire_status eval_filter(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value input = j->filter_input;
    struct qr_jinja_args args;
    if (n->a)
        QR_TRY(qr_jinja_eval(j, scope, n->a, &input));
    QR_TRY(qr_jinja_eval_args(j, scope, n->b, &args));
    j->pos = n->pos;
    if (!n->fn)
        return qr_jinja_unknown_builtin(j, n->kind == QR_JINJA_EXPR_FILTER, n->value);
    return qr_jinja_call_builtin(j, n->fn, input, &args, out);
}

/* not, unary - and +. */
static quire_status eval_unary(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value v;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &v));
    j->pos = n->pos;
    if (n->kind == QR_JINJA_EXPR_NOT) {
        *out = qr_jinja_bool(!qr_jinja_truth(v));
        return QUIRE_OK;
    }
    if (n->kind == QR_JINJA_EXPR_NEG)
        return qr_jinja_negate(j, v, out);
    if (qr_jinja_is_undefined(v))
        return qr_jinja_undefined_error(j, v);
    if (!qr_jinja_is_number(v))
        return qr_jinja_type_error(j, "bad operand type for unary +: '%s'", qr_jinja_type_name(v));
    *out = v.type == QR_JINJA_BOOL ? qr_jinja_int(v.b) : v;
    return QUIRE_OK;
}

static quire_status eval_attr(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_value obj;
    QR_TRY(qr_jinja_eval(j, scope, n->a, &obj));
    j->pos = n->pos;
    return qr_jinja_getattr(j, obj, n->value, out);
}

static quire_status eval_kind(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    switch (n->kind) { /* GCOVR_EXCL_BR_LINE: the parser makes no other expressions. */
    case QR_JINJA_EXPR_CONST:
        *out = n->value;
        return QUIRE_OK;
    case QR_JINJA_EXPR_NAME:
        return eval_name(j, scope, n->value, out);
    case QR_JINJA_EXPR_LIST:
    case QR_JINJA_EXPR_TUPLE:
        return eval_list(j, scope, n, out);
    case QR_JINJA_EXPR_DICT:
        return eval_dict(j, scope, n, out);
    case QR_JINJA_EXPR_OR:
    case QR_JINJA_EXPR_AND:
        return eval_logic(j, scope, n, out);
    case QR_JINJA_EXPR_COMPARE:
        return eval_compare(j, scope, n, out);
    case QR_JINJA_EXPR_ARITH:
        return eval_arith(j, scope, n, out);
    case QR_JINJA_EXPR_CONCAT:
        return eval_concat(j, scope, n, out);
    case QR_JINJA_EXPR_NOT:
    case QR_JINJA_EXPR_NEG:
    case QR_JINJA_EXPR_POS:
        return eval_unary(j, scope, n, out);
    case QR_JINJA_EXPR_COND:
        return eval_cond(j, scope, n, out);
    case QR_JINJA_EXPR_ATTR:
        return eval_attr(j, scope, n, out);
    case QR_JINJA_EXPR_ITEM:
        return eval_item(j, scope, n, out);
    case QR_JINJA_EXPR_SLICE:
        return eval_slice(j, scope, n, out);
    case QR_JINJA_EXPR_CALL:
        return eval_call(j, scope, n, out);
    case QR_JINJA_EXPR_FILTER:
    case QR_JINJA_EXPR_TEST:
        return eval_filter(j, scope, n, out);
    default:
        return qr_jinja_fail(j, QUIRE_E_INTERNAL, "template: not an expression");
    }
}

/* Each node is charged one step and one level of recursion. */
quire_status qr_jinja_eval(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    QR_TRY(qr_jinja_charge(j, 1));
    QR_TRY(qr_jinja_enter(j));
    j->pos = n->pos;
    QR_TRY(eval_kind(j, scope, n, out));
    qr_jinja_leave(j);
    return QUIRE_OK;
}
