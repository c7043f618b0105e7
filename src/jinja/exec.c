/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c - executes statements: output, branches, loops, assignments, blocks. */
#include "jinja/exec.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/ast.h"
#include "jinja/call.h"
#include "jinja/dict.h"
#include "jinja/eval.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/print.h"
#include "jinja/scope.h"
#include "jinja/string_builder.h"
#include "jinja/value.h"

static quire_status assign(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *target, struct qr_jinja_value v);

/* Unpacks v; the number of items must match the number of targets. */
static quire_status assign_tuple(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                 const struct qr_jinja_node *target, struct qr_jinja_value v)
{
    struct qr_jinja_list items;
    size_t n = 0, i = 0;
    for (const struct qr_jinja_node *t = target->a; t; t = t->next)
        n++;
    j->pos = target->pos;
    if (!qr_jinja_is_iterable(v))
        return qr_jinja_type_error(j, "cannot unpack non-iterable %s object",
                                   qr_jinja_type_name(v));
    QR_TRY(qr_jinja_iterate(j, v, &items));
    if (items.n > n)
        return qr_jinja_type_error(j, "too many values to unpack (expected %zu)", n);
    if (items.n < n)
        return qr_jinja_type_error(j, "not enough values to unpack (expected %zu, got %zu)", n,
                                   items.n);
    for (const struct qr_jinja_node *t = target->a; t; t = t->next)
        QR_TRY(assign(j, scope, t, items.items[i++]));
    return QUIRE_OK;
}

/* Assigns names in the innermost scope, and attributes of namespaces of any scope. */
static quire_status assign(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *target, struct qr_jinja_value v)
{
    if (target->kind == QR_JINJA_EXPR_NAME)
        return qr_jinja_dict_set(j, &scope->vars, target->value, v);
    if (target->kind == QR_JINJA_EXPR_TUPLE)
        return assign_tuple(j, scope, target, v);
    struct qr_jinja_value ns;
    const struct qr_jinja_node name = { .kind = QR_JINJA_EXPR_NAME,
                                        .pos = target->pos,
                                        .value = target->value };
    QR_TRY(qr_jinja_eval(j, scope, &name, &ns));
    if (ns.type != QR_JINJA_NAMESPACE)
        return qr_jinja_type_error(j, "cannot assign attribute on non-namespace object");
    return qr_jinja_dict_set(j, ns.d, target->a->value, v);
}

quire_status qr_jinja_capture(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *list, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb, *outer = j->out;
    qr_jinja_sb_init(&sb, j);
    j->out = &sb;
    const quire_status status = qr_jinja_exec(j, scope, list);
    j->out = outer; /* also on failure: sb is on the stack */
    return status == QUIRE_OK ? qr_jinja_sb_finish(&sb, out) : status;
}

static quire_status exec_print(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n)
{
    for (const struct qr_jinja_node *e = n->a; e; e = e->next) {
        struct qr_jinja_value v;
        QR_TRY(qr_jinja_eval(j, scope, e, &v));
        QR_TRY(qr_jinja_print_str(j->out, v));
    }
    return QUIRE_OK;
}

/* Iterates over the elif chain, whose length is unbounded. */
static quire_status exec_if(struct qr_jinja *j, struct qr_jinja_scope *scope,
                            const struct qr_jinja_node *n)
{
    for (;; n = n->b) {
        struct qr_jinja_value test;
        QR_TRY(qr_jinja_eval(j, scope, n->a, &test));
        if (qr_jinja_truth(test))
            return qr_jinja_exec(j, scope, n->c);
        if (!n->b)
            return qr_jinja_exec(j, scope, n->d);
    }
}

/* Keeps the items for which the `if` of the for tag holds. */
static quire_status filter_items(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                 const struct qr_jinja_node *n, struct qr_jinja_list *items)
{
    struct qr_jinja_list *kept;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, items->n, &kept));
    kept->n = 0;
    for (size_t i = 0; i < items->n; i++) {
        struct qr_jinja_scope *inner;
        struct qr_jinja_value holds;
        QR_TRY(qr_jinja_scope_new(j, scope, &inner));
        QR_TRY(assign(j, inner, n->a, items->items[i]));
        QR_TRY(qr_jinja_eval(j, inner, n->e, &holds));
        if (qr_jinja_truth(holds))
            kept->items[kept->n++] = items->items[i];
    }
    *items = *kept;
    return QUIRE_OK;
}

/* Executes the body of loop n for each item of v, each time in a new scope below `scope`. */
static quire_status run_loop(struct qr_jinja *j, struct qr_jinja_scope *scope,
                             const struct qr_jinja_node *n, struct qr_jinja_value v, size_t depth0)
{
    struct qr_jinja_list items;
    struct qr_jinja_loop *loop;
    struct qr_jinja_scope *inner;
    struct qr_jinja_value loop_name;
    QR_TRY(qr_jinja_str_literal(j, "loop", &loop_name));
    QR_TRY(qr_jinja_iterate(j, v, &items));
    if (n->e)
        QR_TRY(filter_items(j, scope, n, &items));
    QR_JINJA_NEW(j, loop, 1);
    *loop = (struct qr_jinja_loop){
        .node = n, .scope = scope, .n = items.n, .items = items.items, .depth0 = depth0
    };
    const struct qr_jinja_value loop_value = { .type = QR_JINJA_LOOP, .loop = loop };
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_jinja_charge(j, 1));
        loop->index0 = i;
        QR_TRY(qr_jinja_scope_new(j, scope, &inner));
        QR_TRY(qr_jinja_dict_set(j, &inner->vars, loop_name, loop_value));
        QR_TRY(assign(j, inner, n->a, items.items[i]));
        QR_TRY(qr_jinja_exec(j, inner, n->c));
        const bool stop = j->flow == QR_JINJA_FLOW_BREAK;
        j->flow = QR_JINJA_FLOW_NORMAL;
        if (stop)
            break;
    }
    if (items.n)
        return QUIRE_OK;
    QR_TRY(qr_jinja_scope_new(j, scope, &inner));
    return qr_jinja_exec(j, inner, n->d);
}

static quire_status exec_for(struct qr_jinja *j, struct qr_jinja_scope *scope,
                             const struct qr_jinja_node *n)
{
    struct qr_jinja_value v;
    QR_TRY(qr_jinja_eval(j, scope, n->b, &v));
    j->pos = n->pos;
    return run_loop(j, scope, n, v, 0);
}

quire_status qr_jinja_call_loop(struct qr_jinja *j, struct qr_jinja_loop *loop,
                                const struct qr_jinja_args *args, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb, *outer = j->out;
    if (!(loop->node->flags & QR_JINJA_LOOP_RECURSIVE))
        return qr_jinja_type_error(
            j, "The loop must have the 'recursive' marker to be called recursively.");
    if (args->n_pos != 1 || args->n_kw)
        return qr_jinja_type_error(j, "loop() takes one argument");
    QR_TRY(qr_jinja_enter(j)); /* GCOVR_EXCL_BR_LINE: the callee was evaluated at this depth. */
    qr_jinja_sb_init(&sb, j);
    j->out = &sb;
    const quire_status status =
        run_loop(j, loop->scope, loop->node, args->pos[0], loop->depth0 + 1);
    j->out = outer;
    QR_TRY(status);
    qr_jinja_leave(j);
    return qr_jinja_sb_finish(&sb, out);
}

/* Applies the filter chain of a block to its text. */
static quire_status apply_filters(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                  const struct qr_jinja_node *chain, struct qr_jinja_value text,
                                  struct qr_jinja_value *out)
{
    j->filter_input = text;
    return qr_jinja_eval(j, scope, chain, out);
}

/* Executes the body in a new scope and assigns the target in the outer one. */
static quire_status exec_set_block(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                   const struct qr_jinja_node *n)
{
    struct qr_jinja_scope *inner;
    struct qr_jinja_value v;
    QR_TRY(qr_jinja_scope_new(j, scope, &inner));
    QR_TRY(qr_jinja_capture(j, inner, n->c, &v));
    if (j->flow != QR_JINJA_FLOW_NORMAL) /* break or continue: no assignment */
        return QUIRE_OK;
    if (n->b)
        QR_TRY(apply_filters(j, scope, n->b, v, &v));
    return assign(j, scope, n->a, v);
}

static quire_status exec_filter_block(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                      const struct qr_jinja_node *n)
{
    struct qr_jinja_scope *inner;
    struct qr_jinja_value v;
    QR_TRY(qr_jinja_scope_new(j, scope, &inner));
    QR_TRY(qr_jinja_capture(j, inner, n->c, &v));
    if (j->flow != QR_JINJA_FLOW_NORMAL)
        return QUIRE_OK;
    QR_TRY(apply_filters(j, scope, n->b, v, &v));
    return qr_jinja_print_str(j->out, v);
}

/* Closes over the scope of the definition; variables are looked up when the macro is called. */
static quire_status make_macro(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n, struct qr_jinja_value *out)
{
    struct qr_jinja_macro *m;
    QR_JINJA_NEW(j, m, 1);
    *m = (struct qr_jinja_macro){ .name = n->value, .node = n, .scope = scope };
    *out = (struct qr_jinja_value){ .type = QR_JINJA_MACRO, .macro = m };
    return QUIRE_OK;
}

/* Calls the macro with the block as the additional keyword argument `caller`. */
static quire_status exec_call_block(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                    const struct qr_jinja_node *n)
{
    struct qr_jinja_value callee, caller, v;
    struct qr_jinja_args args, with_caller;
    struct qr_jinja_value *names, *values;
    QR_TRY(make_macro(j, scope, n->b, &caller));
    QR_TRY(qr_jinja_eval(j, scope, n->a->a, &callee));
    QR_TRY(qr_jinja_eval_args(j, scope, n->a->b, &args));
    QR_JINJA_NEW(j, names, args.n_kw + 1);
    QR_JINJA_NEW(j, values, args.n_kw + 1);
    for (size_t i = 0; i < args.n_kw; i++) {
        names[i] = args.kw_names[i];
        values[i] = args.kw_values[i];
    }
    QR_TRY(qr_jinja_str_literal(j, "caller", &names[args.n_kw]));
    values[args.n_kw] = caller;
    with_caller = (struct qr_jinja_args){ .n_pos = args.n_pos,
                                          .n_kw = args.n_kw + 1,
                                          .pos = args.pos,
                                          .kw_names = names,
                                          .kw_values = values };
    j->pos = n->pos;
    QR_TRY(qr_jinja_call_value(j, callee, &with_caller, &v));
    return qr_jinja_print_str(j->out, v);
}

/* Executes the body in a new scope, in which `with` defines its variables. */
static quire_status exec_scope(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *n)
{
    struct qr_jinja_scope *inner;
    QR_TRY(qr_jinja_scope_new(j, scope, &inner));
    for (const struct qr_jinja_node *set = n->a; set; set = set->next) {
        struct qr_jinja_value v; /* evaluated in the outer scope */
        QR_TRY(qr_jinja_eval(j, scope, set->b, &v));
        QR_TRY(assign(j, inner, set->a, v));
    }
    return qr_jinja_exec(j, inner, n->c);
}

static quire_status exec_one(struct qr_jinja *j, struct qr_jinja_scope *scope,
                             const struct qr_jinja_node *n)
{
    struct qr_jinja_value v;
    switch (n->kind) { /* GCOVR_EXCL_BR_LINE: the parser makes no other statements. */
    case QR_JINJA_STMT_TEXT:
        return qr_jinja_sb_append_str(j->out, n->value.s);
    case QR_JINJA_STMT_PRINT:
        return exec_print(j, scope, n);
    case QR_JINJA_STMT_IF:
        return exec_if(j, scope, n);
    case QR_JINJA_STMT_FOR:
        return exec_for(j, scope, n);
    case QR_JINJA_STMT_SET:
        QR_TRY(qr_jinja_eval(j, scope, n->b, &v));
        return assign(j, scope, n->a, v);
    case QR_JINJA_STMT_SET_BLOCK:
        return exec_set_block(j, scope, n);
    case QR_JINJA_STMT_MACRO:
        QR_TRY(make_macro(j, scope, n, &v));
        return qr_jinja_dict_set(j, &scope->vars, n->value, v);
    case QR_JINJA_STMT_CALL_BLOCK:
        return exec_call_block(j, scope, n);
    case QR_JINJA_STMT_FILTER_BLOCK:
        return exec_filter_block(j, scope, n);
    case QR_JINJA_STMT_WITH:
    case QR_JINJA_STMT_SCOPE:
        return exec_scope(j, scope, n);
    case QR_JINJA_STMT_BREAK:
        j->flow = QR_JINJA_FLOW_BREAK;
        return QUIRE_OK;
    case QR_JINJA_STMT_CONTINUE:
        j->flow = QR_JINJA_FLOW_CONTINUE;
        return QUIRE_OK;
    default:
        return qr_jinja_fail(j, QUIRE_E_INTERNAL, "template: not a statement");
    }
}

/* Stops after break or continue, which run_loop handles. */
quire_status qr_jinja_exec(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *list)
{
    if (!list)
        return QUIRE_OK;
    QR_TRY(qr_jinja_enter(j));
    for (const struct qr_jinja_node *n = list; n && j->flow == QR_JINJA_FLOW_NORMAL; n = n->next) {
        QR_TRY(qr_jinja_charge(j, 1));
        j->pos = n->pos;
        QR_TRY(exec_one(j, scope, n));
    }
    qr_jinja_leave(j);
    return QUIRE_OK;
}
