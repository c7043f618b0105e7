/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - evaluates the arguments of calls; typed access to values. */
#include "jinja/args.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/compare.h"
#include "jinja/eval.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/undefined.h"
#include "jinja/value.h"

/* Arguments collected so far. */
struct collected {
    struct qr_jinja_value *pos, *kw_names, *kw_values;
    size_t n_pos, n_kw;
};

/* Evaluates the * and ** arguments and adds an upper bound of the number of arguments to *n. */
static quire_status count_args(struct qr_jinja *j, struct qr_jinja_scope *scope,
                               const struct qr_jinja_node *list, struct qr_jinja_list *star,
                               struct qr_jinja_dict **mapping, size_t *n)
{
    struct qr_jinja_value v;
    for (const struct qr_jinja_node *arg = list; arg; arg = arg->next, ++*n) {
        if (arg->op == QR_JINJA_ARG_UNPACK) {
            QR_TRY(qr_jinja_eval(j, scope, arg->a, &v));
            QR_TRY(qr_jinja_iterate(j, v, star));
            *n += star->n;
        } else if (arg->op == QR_JINJA_ARG_UNPACK_DICT) {
            QR_TRY(qr_jinja_eval(j, scope, arg->a, &v));
            if (v.type != QR_JINJA_DICT)
                return qr_jinja_type_error(j, "argument after ** must be a mapping, not %s",
                                           qr_jinja_type_name(v));
            *mapping = v.d;
            *n += v.d->n;
        }
    }
    return QUIRE_OK;
}

/* Adds a keyword argument; fails if its name is given twice, explicitly or by **. */
static quire_status add_keyword(struct qr_jinja *j, struct collected *c, struct qr_jinja_value name,
                                struct qr_jinja_value value)
{
    if (name.type != QR_JINJA_STR)
        return qr_jinja_type_error(j, "keywords must be strings");
    for (size_t i = 0; i < c->n_kw; i++) {
        bool same;
        QR_TRY(qr_jinja_equal(j, c->kw_names[i], name, &same));
        if (same)
            return qr_jinja_type_error(j, "got multiple values for keyword argument '%.*s'",
                                       name.s->n > 60 ? 60 : (int)name.s->n, name.s->p);
    }
    c->kw_names[c->n_kw] = name;
    c->kw_values[c->n_kw++] = value;
    return QUIRE_OK;
}

quire_status qr_jinja_eval_args(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                const struct qr_jinja_node *list, struct qr_jinja_args *out)
{
    struct collected c = { .n_pos = 0 };
    struct qr_jinja_list star = { .n = 0 };
    struct qr_jinja_dict *mapping = NULL;
    struct qr_jinja_value v;
    size_t n = 0;
    *out = (struct qr_jinja_args){ .n_pos = 0 };
    if (!list)
        return QUIRE_OK;
    QR_TRY(count_args(j, scope, list, &star, &mapping, &n));
    QR_JINJA_NEW(j, c.pos, n * 3);
    c.kw_names = c.pos + n;
    c.kw_values = c.kw_names + n;
    for (const struct qr_jinja_node *arg = list; arg; arg = arg->next) {
        if (arg->op == QR_JINJA_ARG_UNPACK) {
            for (size_t i = 0; i < star.n; i++)
                c.pos[c.n_pos++] = star.items[i];
        } else if (arg->op == QR_JINJA_ARG_UNPACK_DICT) {
            QR_INVARIANT(mapping); /* count_args saw the same argument */
            for (size_t i = 0; i < mapping->n; i++)
                QR_TRY(add_keyword(j, &c, mapping->entries[i].key, mapping->entries[i].value));
        } else {
            QR_TRY(qr_jinja_eval(j, scope, arg->a, &v));
            if (arg->op == QR_JINJA_ARG_KEYWORD)
                QR_TRY(add_keyword(j, &c, arg->value, v));
            else
                c.pos[c.n_pos++] = v;
        }
    }
    *out = (struct qr_jinja_args){ .n_pos = c.n_pos,
                                   .n_kw = c.n_kw,
                                   .pos = c.pos,
                                   .kw_names = c.kw_names,
                                   .kw_values = c.kw_values };
    return QUIRE_OK;
}

quire_status qr_jinja_expect_int(struct qr_jinja *j, struct qr_jinja_value v, int64_t *out)
{
    if (qr_jinja_is_undefined(v))
        return qr_jinja_undefined_error(j, v);
    if (!qr_jinja_is_integral(v))
        return qr_jinja_type_error(j, "'%s' object cannot be interpreted as an integer",
                                   qr_jinja_type_name(v));
    *out = qr_jinja_integral(v);
    return QUIRE_OK;
}

quire_status qr_jinja_expect_str(struct qr_jinja *j, struct qr_jinja_value v,
                                 const struct qr_jinja_str **out)
{
    if (qr_jinja_is_undefined(v))
        return qr_jinja_undefined_error(j, v);
    if (v.type != QR_JINJA_STR)
        return qr_jinja_type_error(j, "expected a string, got '%s'", qr_jinja_type_name(v));
    *out = v.s;
    return QUIRE_OK;
}
