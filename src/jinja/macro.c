/* SPDX-License-Identifier: Apache-2.0 */
/* macro.c - binds the arguments of macros to their parameters and calls them. */
#include "jinja/macro.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/compare.h"
#include "jinja/dict.h"
#include "jinja/eval.h"
#include "jinja/exec.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/scope.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/value.h"

/* Defines a special variable of the macro. */
static quire_status define_special(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                   const char *name, struct qr_jinja_value v)
{
    struct qr_jinja_value key;
    QR_TRY(qr_jinja_str_literal(j, name, &key));
    return qr_jinja_dict_set(j, &scope->vars, key, v);
}

static quire_status not_provided(struct qr_jinja *j, struct qr_jinja_value name,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_sb_append_literal(&sb, "parameter "));
    QR_TRY(qr_jinja_print_repr(&sb, name));
    /* including the NUL, because a hint is a C string */
    QR_TRY(qr_jinja_sb_append(&sb, " was not provided", sizeof " was not provided", false));
    return qr_jinja_undefined_hint(j, sb.p, out);
}

/* Binds the parameters. used[k] is set if keyword argument k is bound to one. */
static quire_status bind_params(struct qr_jinja *j, const struct qr_jinja_macro *m,
                                const struct qr_jinja_args *args, struct qr_jinja_scope *scope,
                                bool *used, size_t *n_params)
{
    struct qr_jinja_value v;
    size_t i = 0;
    for (const struct qr_jinja_node *p = m->node->a; p; p = p->next, i++) {
        v = i < args->n_pos ? args->pos[i] : qr_jinja_missing();
        for (size_t k = 0; v.type == QR_JINJA_MISSING && k < args->n_kw; k++) {
            bool same;
            QR_TRY(qr_jinja_equal(j, p->value, args->kw_names[k], &same));
            if (same) {
                used[k] = true;
                v = args->kw_values[k];
            }
        }
        if (v.type == QR_JINJA_MISSING && p->a) /* defaults may refer to earlier parameters */
            QR_TRY(qr_jinja_eval(j, scope, p->a, &v));
        else if (v.type == QR_JINJA_MISSING)
            QR_TRY(not_provided(j, p->value, &v));
        QR_TRY(qr_jinja_dict_set(j, &scope->vars, p->value, v));
    }
    *n_params = i;
    return QUIRE_OK;
}

/* Binds the other arguments to kwargs, varargs and caller if the body mentions them; else fails. */
static quire_status bind_rest(struct qr_jinja *j, const struct qr_jinja_macro *m,
                              const struct qr_jinja_args *args, struct qr_jinja_scope *scope,
                              const bool *used, size_t n_params)
{
    const uint8_t flags = m->node->flags;
    struct qr_jinja_dict *kwargs;
    struct qr_jinja_value caller = qr_jinja_missing();
    const char *name = m->name.type == QR_JINJA_STR ? m->name.s->p : "caller";
    const int len = m->name.type != QR_JINJA_STR ? 6 : m->name.s->n > 60 ? 60 : (int)m->name.s->n;
    QR_TRY(qr_jinja_dict_new(j, &kwargs));
    for (size_t k = 0; k < args->n_kw; k++) {
        if (used[k])
            continue;
        if ((flags & QR_JINJA_USES_CALLER) && qr_jinja_str_is(args->kw_names[k].s, "caller"))
            caller = args->kw_values[k];
        else if (flags & QR_JINJA_USES_KWARGS)
            QR_TRY(qr_jinja_dict_set(j, kwargs, args->kw_names[k], args->kw_values[k]));
        else if (qr_jinja_str_is(args->kw_names[k].s, "caller"))
            return qr_jinja_type_error(
                j,
                "macro '%.*s' was invoked with two values for the special caller "
                "argument. This is most likely a bug.",
                len, name);
        else
            return qr_jinja_type_error(
                j, "macro '%.*s' takes no keyword argument '%.*s'", len, name,
                args->kw_names[k].s->n > 60 ? 60 : (int)args->kw_names[k].s->n,
                args->kw_names[k].s->p);
    }
    if (args->n_pos > n_params && !(flags & QR_JINJA_USES_VARARGS))
        return qr_jinja_type_error(j, "macro '%.*s' takes not more than %zu argument(s)", len, name,
                                   n_params);
    if (flags & QR_JINJA_USES_VARARGS) {
        struct qr_jinja_list *rest;
        const size_t n = args->n_pos > n_params ? args->n_pos - n_params : 0;
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, n, &rest));
        for (size_t i = 0; i < n; i++)
            rest->items[i] = args->pos[n_params + i];
        QR_TRY(define_special(j, scope, "varargs", qr_jinja_list_value(rest)));
    }
    if (flags & QR_JINJA_USES_KWARGS)
        QR_TRY(define_special(j, scope, "kwargs", qr_jinja_dict_value(kwargs)));
    if (!(flags & QR_JINJA_USES_CALLER))
        return QUIRE_OK;
    if (caller.type == QR_JINJA_MISSING || caller.type == QR_JINJA_NONE)
        QR_TRY(qr_jinja_undefined_hint(j, "No caller defined", &caller));
    return define_special(j, scope, "caller", caller);
}

/* Executes the body in a scope below that of the definition, not of the call. */
quire_status qr_jinja_call_macro(struct qr_jinja *j, const struct qr_jinja_macro *m,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out)
{
    struct qr_jinja_scope *scope;
    bool *used;
    size_t n_params = 0;
    QR_TRY(qr_jinja_enter(j)); /* GCOVR_EXCL_BR_LINE: the callee was evaluated at this depth. */
    QR_TRY(qr_jinja_scope_new(j, m->scope, &scope));
    QR_JINJA_NEW(j, used, args->n_kw);
    QR_TRY(bind_params(j, m, args, scope, used, &n_params));
    QR_TRY(bind_rest(j, m, args, scope, used, n_params));
    QR_TRY(qr_jinja_capture(j, scope, m->node->c, out));
    qr_jinja_leave(j);
    return QUIRE_OK;
}
