/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_eval.c - evaluates expressions. */
#include "jinja/call.h"

/* Innermost scope first, then the builtin functions, which any variable may hide. */
static quire_status eval_name(struct qr_j *j, const struct qr_j_scope *scope,
                              struct qr_j_value name, struct qr_j_value *out)
{
    uint64_t hash;
    QR_TRY(qr_j_hash(j, name, &hash));
    for (; scope; scope = scope->parent) {
        struct qr_j_value *slot;
        QR_TRY(qr_j_dict_find_hashed(j, &scope->vars, hash, name, &slot));
        if (slot) {
            *out = *slot;
            return QUIRE_OK;
        }
    }
    const struct qr_j_builtin *global = qr_j_global_find(name.s);
    if (!global)
        return qr_j_undefined_name(j, name, out);
    *out = (struct qr_j_value){ .type = QR_J_FUNCTION, .fn = global };
    return QUIRE_OK;
}

static size_t list_length(const struct qr_j_node *n)
{
    size_t count = 0;
    for (; n; n = n->next)
        count++;
    return count;
}

static quire_status eval_list(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_list *l;
    size_t i = 0;
    QR_TRY(
        qr_j_list_new(j, n->kind == QR_J_E_TUPLE ? QR_J_TUPLE : QR_J_PLAIN, list_length(n->a), &l));
    for (const struct qr_j_node *item = n->a; item; item = item->next)
        QR_TRY(qr_j_eval(j, scope, item, &l->items[i++]));
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

static quire_status eval_dict(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_dict *d;
    QR_TRY(qr_j_dict_new(j, &d));
    for (const struct qr_j_node *item = n->a; item; item = item->next->next) {
        struct qr_j_value key, value;
        QR_TRY(qr_j_eval(j, scope, item, &key));
        QR_TRY(qr_j_eval(j, scope, item->next, &value));
        QR_TRY(qr_j_dict_set(j, d, key, value));
    }
    *out = qr_j_dict_value(d);
    return QUIRE_OK;
}

/* and, or: the operand that decides, not its truth. */
static quire_status eval_logic(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                               struct qr_j_value *out)
{
    for (const struct qr_j_node *operand = n->a; operand; operand = operand->next) {
        QR_TRY(qr_j_eval(j, scope, operand, out));
        if (qr_j_truth(*out) == (n->kind == QR_J_E_OR))
            break;
    }
    return QUIRE_OK;
}

static quire_status compare(struct qr_j *j, int op, struct qr_j_value a, struct qr_j_value b,
                            bool *out)
{
    switch (op) {
    case QR_J_OP_EQ:
        return qr_j_equal(j, a, b, out);
    case QR_J_OP_NE:
        QR_TRY(qr_j_equal(j, a, b, out));
        *out = !*out;
        return QUIRE_OK;
    case QR_J_OP_IN:
        return qr_j_contains(j, a, b, out);
    case QR_J_OP_NOT_IN:
        QR_TRY(qr_j_contains(j, a, b, out));
        *out = !*out;
        return QUIRE_OK;
    case '<':
        return qr_j_order(j, QR_J_LT, a, b, out);
    case '>':
        return qr_j_order(j, QR_J_GT, a, b, out);
    case QR_J_OP_LE:
        return qr_j_order(j, QR_J_LE, a, b, out);
    default:
        return qr_j_order(j, QR_J_GE, a, b, out);
    }
}

/* a < b < c: each operand is evaluated once, and none after the first comparison that fails. */
static quire_status eval_compare(struct qr_j *j, struct qr_j_scope *scope,
                                 const struct qr_j_node *n, struct qr_j_value *out)
{
    struct qr_j_value left, right;
    bool holds = true;
    QR_TRY(qr_j_eval(j, scope, n->a, &left));
    for (const struct qr_j_node *operand = n->a->next; holds && operand; operand = operand->next) {
        QR_TRY(qr_j_eval(j, scope, operand, &right));
        QR_TRY(compare(j, operand->op, left, right, &holds));
        left = right;
    }
    *out = qr_j_bool(holds);
    return QUIRE_OK;
}

/* The left operand grows from left to right; with text, qr_j_concat then appends in place. */
static quire_status eval_arith(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                               struct qr_j_value *out)
{
    struct qr_j_value right;
    QR_TRY(qr_j_eval(j, scope, n->a, out));
    for (const struct qr_j_node *operand = n->a->next; operand; operand = operand->next) {
        QR_TRY(qr_j_eval(j, scope, operand, &right));
        j->pos = n->pos;
        QR_TRY(qr_j_binary(j, operand->op, *out, right, out));
    }
    return QUIRE_OK;
}

/* The ~ operator turns everything into text, also none and undefined values. */
static quire_status eval_concat(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                                struct qr_j_value *out)
{
    struct qr_j_sb sb;
    struct qr_j_value v;
    qr_j_sb_init(&sb, j);
    for (const struct qr_j_node *operand = n->a; operand; operand = operand->next) {
        QR_TRY(qr_j_eval(j, scope, operand, &v));
        QR_TRY(qr_j_sb_value(&sb, v));
    }
    return qr_j_sb_done(&sb, out);
}

/* A missing else is not an error until its undefined value is used. */
static quire_status eval_cond(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_value test;
    QR_TRY(qr_j_eval(j, scope, n->a, &test));
    if (qr_j_truth(test))
        return qr_j_eval(j, scope, n->b, out);
    if (n->c)
        return qr_j_eval(j, scope, n->c, out);
    return qr_j_undefined_hint(
        j, "the inline if-expression evaluated to false and no else section was defined.", out);
}

static quire_status eval_item(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_value obj, key;
    QR_TRY(qr_j_eval(j, scope, n->a, &obj));
    QR_TRY(qr_j_eval(j, scope, n->b, &key));
    j->pos = n->pos;
    return qr_j_item(j, obj, key, out);
}

static quire_status eval_slice(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                               struct qr_j_value *out)
{
    struct qr_j_value obj, part[3];
    const struct qr_j_node *const nodes[3] = { n->b, n->c, n->d };
    QR_TRY(qr_j_eval(j, scope, n->a, &obj));
    for (int i = 0; i < 3; i++) {
        part[i] = qr_j_missing();
        if (nodes[i])
            QR_TRY(qr_j_eval(j, scope, nodes[i], &part[i]));
    }
    j->pos = n->pos;
    return qr_j_slice(j, obj, part, out);
}

/* The callee is evaluated before its arguments, as in Python. */
static quire_status eval_call(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_value callee;
    struct qr_j_args args;
    QR_TRY(qr_j_eval(j, scope, n->a, &callee));
    QR_TRY(qr_j_eval_args(j, scope, n->b, &args));
    j->pos = n->pos;
    return qr_j_call_value(j, callee, &args, out);
}

/* x|name(args) and x is name(args). */
static quire_status eval_filter(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                                struct qr_j_value *out)
{
    struct qr_j_value input = j->pipe;
    struct qr_j_args args;
    if (n->a)
        QR_TRY(qr_j_eval(j, scope, n->a, &input));
    QR_TRY(qr_j_eval_args(j, scope, n->b, &args));
    j->pos = n->pos;
    if (!n->fn)
        return qr_j_no_such(j, n->kind == QR_J_E_FILTER, n->value);
    return qr_j_call_builtin(j, n->fn, input, &args, out);
}

/* not, - and +. */
static quire_status eval_unary(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                               struct qr_j_value *out)
{
    struct qr_j_value v;
    QR_TRY(qr_j_eval(j, scope, n->a, &v));
    j->pos = n->pos;
    if (n->kind == QR_J_E_NOT) {
        *out = qr_j_bool(!qr_j_truth(v));
        return QUIRE_OK;
    }
    if (n->kind == QR_J_E_NEG)
        return qr_j_negate(j, v, out);
    if (qr_j_is_undefined(v))
        return qr_j_undefined_error(j, v);
    if (!qr_j_is_number(v))
        return qr_j_type_error(j, "bad operand type for unary +: '%s'", qr_j_type_name(v));
    *out = v.type == QR_J_BOOL ? qr_j_int(v.b) : v;
    return QUIRE_OK;
}

static quire_status eval_attr(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    struct qr_j_value obj;
    QR_TRY(qr_j_eval(j, scope, n->a, &obj));
    j->pos = n->pos;
    return qr_j_attr(j, obj, n->value, out);
}

/* One case per kind of expression. */
static quire_status eval_kind(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                              struct qr_j_value *out)
{
    switch (n->kind) {
    case QR_J_E_CONST:
        *out = n->value;
        return QUIRE_OK;
    case QR_J_E_NAME:
        return eval_name(j, scope, n->value, out);
    case QR_J_E_LIST:
    case QR_J_E_TUPLE:
        return eval_list(j, scope, n, out);
    case QR_J_E_DICT:
        return eval_dict(j, scope, n, out);
    case QR_J_E_OR:
    case QR_J_E_AND:
        return eval_logic(j, scope, n, out);
    case QR_J_E_COMPARE:
        return eval_compare(j, scope, n, out);
    case QR_J_E_ARITH:
        return eval_arith(j, scope, n, out);
    case QR_J_E_CONCAT:
        return eval_concat(j, scope, n, out);
    case QR_J_E_NOT:
    case QR_J_E_NEG:
    case QR_J_E_POS:
        return eval_unary(j, scope, n, out);
    case QR_J_E_COND:
        return eval_cond(j, scope, n, out);
    case QR_J_E_ATTR:
        return eval_attr(j, scope, n, out);
    case QR_J_E_ITEM:
        return eval_item(j, scope, n, out);
    case QR_J_E_SLICE:
        return eval_slice(j, scope, n, out);
    case QR_J_E_CALL:
        return eval_call(j, scope, n, out);
    case QR_J_E_FILTER:
    case QR_J_E_TEST:
        return eval_filter(j, scope, n, out);
    default:
        return qr_j_fail(j, QUIRE_E_INTERNAL, "chat template: not an expression");
    }
}

/* Every node costs a step and a level of depth: nothing escapes the budgets. */
quire_status qr_j_eval(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                       struct qr_j_value *out)
{
    QR_TRY(qr_j_step(j, 1));
    QR_TRY(qr_j_enter(j));
    j->pos = n->pos;
    QR_TRY(eval_kind(j, scope, n, out));
    qr_j_leave(j);
    return QUIRE_OK;
}
