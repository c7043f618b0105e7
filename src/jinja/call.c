/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_call.c - evaluates arguments, binds them to parameters, and calls builtins and macros. */
#include "jinja/call.h"

/* --- arguments --- */
struct collected {
    struct qr_j_value *pos, *kw_names, *kw_values;
    size_t n_pos, n_kw;
};

/* Evaluates * and ** arguments and counts the slots that all arguments need. */
static quire_status count_args(struct qr_j *j, struct qr_j_scope *scope,
                               const struct qr_j_node *list, struct qr_j_list *star,
                               struct qr_j_dict **mapping, size_t *n)
{
    struct qr_j_value v;
    for (const struct qr_j_node *arg = list; arg; arg = arg->next, ++*n) {
        if (arg->op == '*') {
            QR_TRY(qr_j_eval(j, scope, arg->a, &v));
            QR_TRY(qr_j_items(j, v, star));
            *n += star->n;
        } else if (arg->op == 'd') {
            QR_TRY(qr_j_eval(j, scope, arg->a, &v));
            if (v.type != QR_J_DICT)
                return qr_j_type_error(j, "argument after ** must be a mapping, not %s",
                                       qr_j_type_name(v));
            *mapping = v.d;
            *n += v.d->n;
        }
    }
    return QUIRE_OK;
}

/* Refuses a name given twice, be it by name or by **. */
static quire_status add_keyword(struct qr_j *j, struct collected *c, struct qr_j_value name,
                                struct qr_j_value value)
{
    if (name.type != QR_J_STR)
        return qr_j_type_error(j, "keywords must be strings");
    for (size_t i = 0; i < c->n_kw; i++) {
        bool same;
        QR_TRY(qr_j_equal(j, c->kw_names[i], name, &same));
        if (same)
            return qr_j_type_error(j, "got multiple values for keyword argument '%.*s'",
                                   name.s->n > 60 ? 60 : (int)name.s->n, name.s->p);
    }
    c->kw_names[c->n_kw] = name;
    c->kw_values[c->n_kw++] = value;
    return QUIRE_OK;
}

quire_status qr_j_eval_args(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list,
                            struct qr_j_args *out)
{
    struct collected c = { .n_pos = 0 };
    struct qr_j_list star = { .n = 0 };
    struct qr_j_dict *mapping = NULL;
    struct qr_j_value v;
    size_t n = 0;
    *out = (struct qr_j_args){ .n_pos = 0 };
    if (!list)
        return QUIRE_OK;
    QR_TRY(count_args(j, scope, list, &star, &mapping, &n));
    QR_J_NEW(j, c.pos, n * 3);
    c.kw_names = c.pos + n;
    c.kw_values = c.kw_names + n;
    for (const struct qr_j_node *arg = list; arg; arg = arg->next) {
        if (arg->op == '*') {
            for (size_t i = 0; i < star.n; i++)
                c.pos[c.n_pos++] = star.items[i];
        } else if (arg->op == 'd') {
            for (size_t i = 0; i < mapping->n; i++)
                QR_TRY(add_keyword(j, &c, mapping->entries[i].key, mapping->entries[i].value));
        } else {
            QR_TRY(qr_j_eval(j, scope, arg->a, &v));
            if (arg->op == 'k')
                QR_TRY(add_keyword(j, &c, arg->value, v));
            else
                c.pos[c.n_pos++] = v;
        }
    }
    *out = (struct qr_j_args){ .n_pos = c.n_pos,
                               .n_kw = c.n_kw,
                               .pos = c.pos,
                               .kw_names = c.kw_names,
                               .kw_values = c.kw_values };
    return QUIRE_OK;
}

/* Index of a parameter in "name name ...", or -1. */
static int param_index(const char *params, const struct qr_j_str *name)
{
    for (int i = 0; *params; i++) {
        const size_t n = strcspn(params, " ");
        if (n == name->n && memcmp(params, name->p, n) == 0)
            return i;
        params += n + (params[n] == ' ');
    }
    return -1;
}

static int param_count(const char *params)
{
    int n = *params != 0;
    for (; *params; params++)
        n += *params == ' ';
    return n;
}

/* Positional arguments first, then keywords into the free slots. */
static quire_status bind(struct qr_j *j, const struct qr_j_builtin *fn,
                         const struct qr_j_args *args, struct qr_j_value *slots)
{
    const int n = param_count(fn->params);
    if (args->n_pos > (size_t)n)
        return qr_j_type_error(j, "%s() takes at most %d arguments (%zu given)", fn->name, n,
                               args->n_pos);
    for (size_t i = 0; i < args->n_pos; i++)
        slots[i] = args->pos[i];
    for (size_t i = 0; i < args->n_kw; i++) {
        const struct qr_j_str *name = args->kw_names[i].s;
        const int len = name->n > 60 ? 60 : (int)name->n, at = param_index(fn->params, name);
        if (at < 0)
            return qr_j_type_error(j, "%s() got an unexpected keyword argument '%.*s'", fn->name,
                                   len, name->p);
        if (slots[at].type != QR_J_MISSING)
            return qr_j_type_error(j, "%s() got multiple values for argument '%.*s'", fn->name, len,
                                   name->p);
        slots[at] = args->kw_values[i];
    }
    for (int i = 0; i < fn->required; i++)
        if (slots[i].type == QR_J_MISSING)
            return qr_j_type_error(j, "%s() missing %d required argument%s", fn->name, fn->required,
                                   fn->required > 1 ? "s" : "");
    return QUIRE_OK;
}

/* --- calls --- */
quire_status qr_j_call_builtin(struct qr_j *j, const struct qr_j_builtin *fn,
                               struct qr_j_value self, const struct qr_j_args *args,
                               struct qr_j_value *out)
{
    struct qr_j_call c = { .self = self, .args = args };
    QR_TRY(qr_j_step(j, 1));
    if (fn->params[0] != '*')
        QR_TRY(bind(j, fn, args, c.a));
    /* filters such as map call further filters */
    QR_TRY(qr_j_enter(j));
    QR_TRY(fn->fn(j, &c, out));
    qr_j_leave(j);
    return QUIRE_OK;
}

quire_status qr_j_no_such(struct qr_j *j, bool is_filter, struct qr_j_value name)
{
    struct qr_j_sb sb;
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_repr(&sb, name));
    return qr_j_fail(j, QUIRE_E_UNSUPPORTED, "No %s named %.*s found.",
                     is_filter ? "filter" : "test", sb.n > 100 ? 100 : (int)sb.n, sb.p);
}

quire_status qr_j_call_named(struct qr_j *j, bool is_filter, struct qr_j_value name,
                             struct qr_j_value self, const struct qr_j_args *args,
                             struct qr_j_value *out)
{
    const struct qr_j_builtin *fn = NULL;
    if (name.type == QR_J_STR)
        fn = is_filter ? qr_j_filter_find(name.s) : qr_j_test_find(name.s);
    return fn ? qr_j_call_builtin(j, fn, self, args, out) : qr_j_no_such(j, is_filter, name);
}

/* Nothing the first time, then the separator. */
static quire_status call_joiner(struct qr_j *j, struct qr_j_joiner *joiner, struct qr_j_value *out)
{
    if (joiner->used) {
        *out = joiner->sep;
        return QUIRE_OK;
    }
    joiner->used = true;
    return qr_j_textz(j, "", out);
}

quire_status qr_j_call_value(struct qr_j *j, struct qr_j_value callee, const struct qr_j_args *args,
                             struct qr_j_value *out)
{
    switch (callee.type) {
    case QR_J_FUNCTION:
        return qr_j_call_builtin(j, callee.fn, qr_j_missing(), args, out);
    case QR_J_METHOD:
        return qr_j_call_builtin(j, callee.m->fn, callee.m->self, args, out);
    case QR_J_MACRO:
        return qr_j_call_macro(j, callee.macro, args, out);
    case QR_J_LOOP:
        return qr_j_call_loop(j, callee.loop, args, out);
    case QR_J_JOINER:
        return call_joiner(j, callee.joiner, out);
    case QR_J_UNDEFINED:
        return qr_j_undefined_error(j, callee);
    default:
        return qr_j_type_error(j, "'%s' object is not callable", qr_j_type_name(callee));
    }
}

/* --- macros --- */
/* For the variables a macro gets without declaring them. */
static quire_status set_named(struct qr_j *j, struct qr_j_scope *scope, const char *name,
                              struct qr_j_value v)
{
    struct qr_j_value key;
    QR_TRY(qr_j_textz(j, name, &key));
    return qr_j_dict_set(j, &scope->vars, key, v);
}

static quire_status not_provided(struct qr_j *j, struct qr_j_value name, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_addz(&sb, "parameter "));
    QR_TRY(qr_j_sb_repr(&sb, name));
    QR_TRY(qr_j_sb_add(&sb, " was not provided", sizeof " was not provided",
                       false)); /* with its NUL */
    return qr_j_undefined_hint(j, sb.p, out);
}

/* Binds parameters; used[k] is set for keyword arguments that went to one. */
static quire_status bind_params(struct qr_j *j, const struct qr_j_macro *m,
                                const struct qr_j_args *args, struct qr_j_scope *scope, bool *used,
                                size_t *n_params)
{
    struct qr_j_value v;
    size_t i = 0;
    for (const struct qr_j_node *p = m->node->a; p; p = p->next, i++) {
        v = i < args->n_pos ? args->pos[i] : qr_j_missing();
        for (size_t k = 0; v.type == QR_J_MISSING && k < args->n_kw; k++) {
            bool same;
            QR_TRY(qr_j_equal(j, p->value, args->kw_names[k], &same));
            if (same) {
                used[k] = true;
                v = args->kw_values[k];
            }
        }
        if (v.type == QR_J_MISSING && p->a) /* a default may mention the parameters before it */
            QR_TRY(qr_j_eval(j, scope, p->a, &v));
        else if (v.type == QR_J_MISSING)
            QR_TRY(not_provided(j, p->value, &v));
        QR_TRY(qr_j_dict_set(j, &scope->vars, p->value, v));
    }
    *n_params = i;
    return QUIRE_OK;
}

/* What the parameters did not take: kwargs, varargs and caller if the body mentions them, else an
 * error. */
static quire_status bind_rest(struct qr_j *j, const struct qr_j_macro *m,
                              const struct qr_j_args *args, struct qr_j_scope *scope,
                              const bool *used, size_t n_params)
{
    const uint8_t flags = m->node->flags;
    struct qr_j_dict *kwargs;
    struct qr_j_value caller = qr_j_missing();
    const char *name = m->name.type == QR_J_STR ? m->name.s->p : "caller";
    const int len = m->name.type != QR_J_STR ? 6 : m->name.s->n > 60 ? 60 : (int)m->name.s->n;
    QR_TRY(qr_j_dict_new(j, &kwargs));
    for (size_t k = 0; k < args->n_kw; k++) {
        if (used[k])
            continue;
        if ((flags & QR_J_USES_CALLER) && qr_j_str_is(args->kw_names[k].s, "caller"))
            caller = args->kw_values[k];
        else if (flags & QR_J_USES_KWARGS)
            QR_TRY(qr_j_dict_set(j, kwargs, args->kw_names[k], args->kw_values[k]));
        else if (qr_j_str_is(args->kw_names[k].s, "caller"))
            return qr_j_type_error(
                j,
                "macro '%.*s' was invoked with two values for the special caller "
                "argument. This is most likely a bug.",
                len, name);
        else
            return qr_j_type_error(j, "macro '%.*s' takes no keyword argument '%.*s'", len, name,
                                   args->kw_names[k].s->n > 60 ? 60 : (int)args->kw_names[k].s->n,
                                   args->kw_names[k].s->p);
    }
    if (args->n_pos > n_params && !(flags & QR_J_USES_VARARGS))
        return qr_j_type_error(j, "macro '%.*s' takes not more than %zu argument(s)", len, name,
                               n_params);
    if (flags & QR_J_USES_VARARGS) {
        struct qr_j_list *rest;
        const size_t n = args->n_pos > n_params ? args->n_pos - n_params : 0;
        QR_TRY(qr_j_list_new(j, QR_J_TUPLE, n, &rest));
        for (size_t i = 0; i < n; i++)
            rest->items[i] = args->pos[n_params + i];
        QR_TRY(set_named(j, scope, "varargs", qr_j_list_value(rest)));
    }
    if (flags & QR_J_USES_KWARGS)
        QR_TRY(set_named(j, scope, "kwargs", qr_j_dict_value(kwargs)));
    if (!(flags & QR_J_USES_CALLER))
        return QUIRE_OK;
    if (caller.type == QR_J_MISSING || caller.type == QR_J_NONE)
        QR_TRY(qr_j_undefined_hint(j, "No caller defined", &caller));
    return set_named(j, scope, "caller", caller);
}

/* Runs in a scope below that of the definition, not of the call. */
quire_status qr_j_call_macro(struct qr_j *j, const struct qr_j_macro *m,
                             const struct qr_j_args *args, struct qr_j_value *out)
{
    struct qr_j_scope *scope;
    bool *used;
    size_t n_params = 0;
    QR_TRY(qr_j_enter(j));
    QR_TRY(qr_j_scope_new(j, m->scope, &scope));
    QR_J_NEW(j, used, args->n_kw);
    QR_TRY(bind_params(j, m, args, scope, used, &n_params));
    QR_TRY(bind_rest(j, m, args, scope, used, n_params));
    QR_TRY(qr_j_capture(j, scope, m->node->c, out));
    qr_j_leave(j);
    return QUIRE_OK;
}

quire_status qr_j_want_int(struct qr_j *j, struct qr_j_value v, int64_t *out)
{
    if (qr_j_is_undefined(v))
        return qr_j_undefined_error(j, v);
    if (!qr_j_is_intlike(v))
        return qr_j_type_error(j, "'%s' object cannot be interpreted as an integer",
                               qr_j_type_name(v));
    *out = qr_j_intlike(v);
    return QUIRE_OK;
}

quire_status qr_j_want_str(struct qr_j *j, struct qr_j_value v, const struct qr_j_str **out)
{
    if (qr_j_is_undefined(v))
        return qr_j_undefined_error(j, v);
    if (v.type != QR_J_STR)
        return qr_j_type_error(j, "expected a string, got '%s'", qr_j_type_name(v));
    *out = v.s;
    return QUIRE_OK;
}
