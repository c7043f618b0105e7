/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_exec.c - executes statements: output, branches, loops, assignments, macros, scopes. */
#include "jinja/call.h"

quire_status qr_j_scope_new(struct qr_j *j, struct qr_j_scope *parent, struct qr_j_scope **out)
{
    QR_J_NEW(j, *out, 1);
    (*out)->parent = parent;
    return QUIRE_OK;
}

/* Unpacks as Python does: the number of items must be right. */
static quire_status assign_tuple(struct qr_j *j, struct qr_j_scope *scope,
                                 const struct qr_j_node *target, struct qr_j_value v)
{
    struct qr_j_list items;
    size_t n = 0, i = 0;
    for (const struct qr_j_node *t = target->a; t; t = t->next)
        n++;
    j->pos = target->pos;
    if (!qr_j_is_iterable(v))
        return qr_j_type_error(j, "cannot unpack non-iterable %s object", qr_j_type_name(v));
    QR_TRY(qr_j_items(j, v, &items));
    if (items.n > n)
        return qr_j_type_error(j, "too many values to unpack (expected %zu)", n);
    if (items.n < n)
        return qr_j_type_error(j, "not enough values to unpack (expected %zu, got %zu)", n,
                               items.n);
    for (const struct qr_j_node *t = target->a; t; t = t->next)
        QR_TRY(qr_j_assign(j, scope, t, items.items[i++]));
    return QUIRE_OK;
}

/* Names are set in the innermost scope; only a namespace reaches further out. */
quire_status qr_j_assign(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *target,
                         struct qr_j_value v)
{
    if (target->kind == QR_J_E_NAME)
        return qr_j_dict_set(j, &scope->vars, target->value, v);
    if (target->kind == QR_J_E_TUPLE)
        return assign_tuple(j, scope, target, v);
    struct qr_j_value ns;
    const struct qr_j_node name = { .kind = QR_J_E_NAME,
                                    .pos = target->pos,
                                    .value = target->value };
    QR_TRY(qr_j_eval(j, scope, &name, &ns));
    if (ns.type != QR_J_NAMESPACE)
        return qr_j_type_error(j, "cannot assign attribute on non-namespace object");
    return qr_j_dict_set(j, ns.d, target->a->value, v);
}

/* Output is redirected by swapping the sink, so statements need not know. */
quire_status qr_j_capture(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list,
                          struct qr_j_value *out)
{
    struct qr_j_sb sb, *outer = j->out;
    qr_j_sb_init(&sb, j);
    j->out = &sb;
    const quire_status status = qr_j_exec(j, scope, list);
    j->out = outer; /* never left pointing at this frame */
    return status == QUIRE_OK ? qr_j_sb_done(&sb, out) : status;
}

static quire_status exec_print(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n)
{
    for (const struct qr_j_node *e = n->a; e; e = e->next) {
        struct qr_j_value v;
        QR_TRY(qr_j_eval(j, scope, e, &v));
        QR_TRY(qr_j_sb_value(j->out, v));
    }
    return QUIRE_OK;
}

/* Walks the chain of elifs without recursion. */
static quire_status exec_if(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n)
{
    for (; n; n = n->b) {
        struct qr_j_value test;
        QR_TRY(qr_j_eval(j, scope, n->a, &test));
        if (qr_j_truth(test))
            return qr_j_exec(j, scope, n->c);
        if (!n->b)
            return qr_j_exec(j, scope, n->d);
    }
    return QUIRE_OK;
}

/* Keeps the items for which the loop's own `if` holds. */
static quire_status filter_items(struct qr_j *j, struct qr_j_scope *scope,
                                 const struct qr_j_node *n, struct qr_j_list *items)
{
    struct qr_j_list *kept;
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, items->n, &kept));
    kept->n = 0;
    for (size_t i = 0; i < items->n; i++) {
        struct qr_j_scope *inner;
        struct qr_j_value holds;
        QR_TRY(qr_j_scope_new(j, scope, &inner));
        QR_TRY(qr_j_assign(j, inner, n->a, items->items[i]));
        QR_TRY(qr_j_eval(j, inner, n->e, &holds));
        if (qr_j_truth(holds))
            kept->items[kept->n++] = items->items[i];
    }
    *items = *kept;
    return QUIRE_OK;
}

/* Runs the body of loop n for each item of v, in scopes below `scope`. */
static quire_status run_loop(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                             struct qr_j_value v, size_t depth0)
{
    struct qr_j_list items;
    struct qr_j_loop *loop;
    struct qr_j_scope *inner;
    struct qr_j_value loop_name;
    QR_TRY(qr_j_textz(j, "loop", &loop_name));
    QR_TRY(qr_j_items(j, v, &items));
    if (n->e)
        QR_TRY(filter_items(j, scope, n, &items));
    QR_J_NEW(j, loop, 1);
    *loop = (struct qr_j_loop){
        .node = n, .scope = scope, .n = items.n, .items = items.items, .depth0 = depth0
    };
    const struct qr_j_value loop_value = { .type = QR_J_LOOP, .loop = loop };
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_j_step(j, 1));
        loop->index0 = i;
        QR_TRY(qr_j_scope_new(j, scope, &inner));
        QR_TRY(qr_j_dict_set(j, &inner->vars, loop_name, loop_value));
        QR_TRY(qr_j_assign(j, inner, n->a, items.items[i]));
        QR_TRY(qr_j_exec(j, inner, n->c));
        const bool stop = j->flow == QR_J_BREAK;
        j->flow = QR_J_RUN;
        if (stop)
            break;
    }
    if (items.n)
        return QUIRE_OK;
    QR_TRY(qr_j_scope_new(j, scope, &inner));
    return qr_j_exec(j, inner, n->d);
}

static quire_status exec_for(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n)
{
    struct qr_j_value v;
    QR_TRY(qr_j_eval(j, scope, n->b, &v));
    j->pos = n->pos;
    return run_loop(j, scope, n, v, 0);
}

quire_status qr_j_call_loop(struct qr_j *j, struct qr_j_loop *loop, const struct qr_j_args *args,
                            struct qr_j_value *out)
{
    struct qr_j_sb sb, *outer = j->out;
    if (!(loop->node->flags & QR_J_RECURSIVE))
        return qr_j_type_error(
            j, "The loop must have the 'recursive' marker to be called recursively.");
    if (args->n_pos != 1 || args->n_kw)
        return qr_j_type_error(j, "loop() takes one argument");
    QR_TRY(qr_j_enter(j));
    qr_j_sb_init(&sb, j);
    j->out = &sb;
    const quire_status status =
        run_loop(j, loop->scope, loop->node, args->pos[0], loop->depth0 + 1);
    j->out = outer;
    QR_TRY(status);
    qr_j_leave(j);
    return qr_j_sb_done(&sb, out);
}

/* Runs a chain of filters on text. */
static quire_status apply_filters(struct qr_j *j, struct qr_j_scope *scope,
                                  const struct qr_j_node *chain, struct qr_j_value text,
                                  struct qr_j_value *out)
{
    j->pipe = text;
    return qr_j_eval(j, scope, chain, out);
}

/* The body has its own scope, the name is set outside it. */
static quire_status exec_set_block(struct qr_j *j, struct qr_j_scope *scope,
                                   const struct qr_j_node *n)
{
    struct qr_j_scope *inner;
    struct qr_j_value v;
    QR_TRY(qr_j_scope_new(j, scope, &inner));
    QR_TRY(qr_j_capture(j, inner, n->c, &v));
    if (j->flow != QR_J_RUN) /* left by break or continue: nothing is set */
        return QUIRE_OK;
    if (n->b)
        QR_TRY(apply_filters(j, scope, n->b, v, &v));
    return qr_j_assign(j, scope, n->a, v);
}

static quire_status exec_filter_block(struct qr_j *j, struct qr_j_scope *scope,
                                      const struct qr_j_node *n)
{
    struct qr_j_scope *inner;
    struct qr_j_value v;
    QR_TRY(qr_j_scope_new(j, scope, &inner));
    QR_TRY(qr_j_capture(j, inner, n->c, &v));
    if (j->flow != QR_J_RUN)
        return QUIRE_OK;
    QR_TRY(apply_filters(j, scope, n->b, v, &v));
    return qr_j_sb_value(j->out, v);
}

/* A closure: it sees the variables around its definition as they are when it is called. */
static quire_status make_macro(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                               struct qr_j_value *out)
{
    struct qr_j_macro *m;
    QR_J_NEW(j, m, 1);
    *m = (struct qr_j_macro){ .name = n->value, .node = n, .scope = scope };
    *out = (struct qr_j_value){ .type = QR_J_MACRO, .macro = m };
    return QUIRE_OK;
}

/* Calls the macro with one more keyword argument, the block as `caller`. */
static quire_status exec_call_block(struct qr_j *j, struct qr_j_scope *scope,
                                    const struct qr_j_node *n)
{
    struct qr_j_value callee, caller, v;
    struct qr_j_args args, with_caller;
    struct qr_j_value *names, *values;
    QR_TRY(make_macro(j, scope, n->b, &caller));
    QR_TRY(qr_j_eval(j, scope, n->a->a, &callee));
    QR_TRY(qr_j_eval_args(j, scope, n->a->b, &args));
    QR_J_NEW(j, names, args.n_kw + 1);
    QR_J_NEW(j, values, args.n_kw + 1);
    for (size_t i = 0; i < args.n_kw; i++) {
        names[i] = args.kw_names[i];
        values[i] = args.kw_values[i];
    }
    QR_TRY(qr_j_textz(j, "caller", &names[args.n_kw]));
    values[args.n_kw] = caller;
    with_caller = (struct qr_j_args){ .n_pos = args.n_pos,
                                      .n_kw = args.n_kw + 1,
                                      .pos = args.pos,
                                      .kw_names = names,
                                      .kw_values = values };
    j->pos = n->pos;
    QR_TRY(qr_j_call_value(j, callee, &with_caller, &v));
    return qr_j_sb_value(j->out, v);
}

/* Bodies that only hide what they set. */
static quire_status exec_scope(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n)
{
    struct qr_j_scope *inner;
    QR_TRY(qr_j_scope_new(j, scope, &inner));
    for (const struct qr_j_node *set = n->a; set; set = set->next) {
        struct qr_j_value v; /* all values of `with` see the outer scope only */
        QR_TRY(qr_j_eval(j, scope, set->b, &v));
        QR_TRY(qr_j_assign(j, inner, set->a, v));
    }
    return qr_j_exec(j, inner, n->c);
}

/* One case per kind of statement. */
static quire_status exec_one(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n)
{
    struct qr_j_value v;
    switch (n->kind) {
    case QR_J_S_TEXT:
        return qr_j_sb_str(j->out, n->value.s);
    case QR_J_S_PRINT:
        return exec_print(j, scope, n);
    case QR_J_S_IF:
        return exec_if(j, scope, n);
    case QR_J_S_FOR:
        return exec_for(j, scope, n);
    case QR_J_S_SET:
        QR_TRY(qr_j_eval(j, scope, n->b, &v));
        return qr_j_assign(j, scope, n->a, v);
    case QR_J_S_SET_BLOCK:
        return exec_set_block(j, scope, n);
    case QR_J_S_MACRO:
        QR_TRY(make_macro(j, scope, n, &v));
        return qr_j_dict_set(j, &scope->vars, n->value, v);
    case QR_J_S_CALL_BLOCK:
        return exec_call_block(j, scope, n);
    case QR_J_S_FILTER_BLOCK:
        return exec_filter_block(j, scope, n);
    case QR_J_S_WITH:
    case QR_J_S_SCOPE:
        return exec_scope(j, scope, n);
    case QR_J_S_BREAK:
        j->flow = QR_J_BREAK;
        return QUIRE_OK;
    case QR_J_S_CONTINUE:
        j->flow = QR_J_CONTINUE;
        return QUIRE_OK;
    default:
        return qr_j_fail(j, QUIRE_E_INTERNAL, "chat template: not a statement");
    }
}

/* Stops early when a statement was break or continue; the loop takes note of it. */
quire_status qr_j_exec(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list)
{
    if (!list)
        return QUIRE_OK;
    QR_TRY(qr_j_enter(j));
    for (const struct qr_j_node *n = list; n && j->flow == QR_J_RUN; n = n->next) {
        QR_TRY(qr_j_step(j, 1));
        j->pos = n->pos;
        QR_TRY(exec_one(j, scope, n));
    }
    qr_j_leave(j);
    return QUIRE_OK;
}
