/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.c - looks up builtins, binds arguments to their parameters and calls them. */
#include "jinja/builtin.h"
#include "base/error.h"
#include "jinja/builtin_tests.h"
#include "jinja/filter.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include <string.h>

/* Index of a parameter in the list "name name ...", or -1. */
static int param_index(const char *params, const struct qr_jinja_str *name)
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

/* Binds positional arguments to slots[], then keyword arguments. */
static quire_status bind(struct qr_jinja *j, const struct qr_jinja_builtin *fn,
                         const struct qr_jinja_args *args, struct qr_jinja_value *slots)
{
    const int n = param_count(fn->params);
    if (args->n_pos > (size_t)n)
        return qr_jinja_type_error(j, "%s() takes at most %d arguments (%zu given)", fn->name, n,
                                   args->n_pos);
    for (size_t i = 0; i < args->n_pos; i++)
        slots[i] = args->pos[i];
    for (size_t i = 0; i < args->n_kw; i++) {
        const struct qr_jinja_str *name = args->kw_names[i].s;
        const int len = name->n > 60 ? 60 : (int)name->n, at = param_index(fn->params, name);
        if (at < 0)
            return qr_jinja_type_error(j, "%s() got an unexpected keyword argument '%.*s'",
                                       fn->name, len, name->p);
        if (slots[at].type != QR_JINJA_MISSING)
            return qr_jinja_type_error(j, "%s() got multiple values for argument '%.*s'", fn->name,
                                       len, name->p);
        slots[at] = args->kw_values[i];
    }
    for (int i = 0; i < fn->required; i++)
        if (slots[i].type == QR_JINJA_MISSING)
            return qr_jinja_type_error(j, "%s() missing %d required argument%s", fn->name,
                                       fn->required, fn->required > 1 ? "s" : "");
    return QUIRE_OK;
}

const struct qr_jinja_builtin *qr_jinja_builtin_find(const struct qr_jinja_builtin *table, size_t n,
                                                     const struct qr_jinja_str *name)
{
    for (size_t i = 0; i < n; i++)
        if (qr_jinja_str_is(name, table[i].name))
            return &table[i];
    return NULL;
}

quire_status qr_jinja_call_builtin(struct qr_jinja *j, const struct qr_jinja_builtin *fn,
                                   struct qr_jinja_value self, const struct qr_jinja_args *args,
                                   struct qr_jinja_value *out)
{
    struct qr_jinja_call c = { .self = self, .args = args };
    QR_TRY(qr_jinja_charge(j, 1));
    if (fn->params[0] != '*')
        QR_TRY(bind(j, fn, args, c.arg));
    /* filters such as map call other filters */
    QR_TRY(qr_jinja_enter(j));
    QR_TRY(fn->fn(j, &c, out));
    qr_jinja_leave(j);
    return QUIRE_OK;
}

quire_status qr_jinja_unknown_builtin(struct qr_jinja *j, bool is_filter,
                                      struct qr_jinja_value name)
{
    struct qr_jinja_sb sb;
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_print_repr(&sb, name));
    return qr_jinja_fail(j, QUIRE_E_UNSUPPORTED, "No %s named %.*s found.",
                         is_filter ? "filter" : "test", sb.n > 100 ? 100 : (int)sb.n, sb.p);
}

quire_status qr_jinja_call_by_name(struct qr_jinja *j, bool is_filter, struct qr_jinja_value name,
                                   struct qr_jinja_value self, const struct qr_jinja_args *args,
                                   struct qr_jinja_value *out)
{
    const struct qr_jinja_builtin *fn = NULL;
    if (name.type == QR_JINJA_STR)
        fn = is_filter ? qr_jinja_filter_find(name.s) : qr_jinja_test_find(name.s);
    return fn ? qr_jinja_call_builtin(j, fn, self, args, out)
              : qr_jinja_unknown_builtin(j, is_filter, name);
}
