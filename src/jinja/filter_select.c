/* SPDX-License-Identifier: Apache-2.0 */
/* filter_select.c - map, select, reject, selectattr, rejectattr. */
#include "jinja/filter_select.h"
#include "base/error.h"
#include "jinja/attr.h"
#include "jinja/builtin.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/str.h"
#include "jinja/value.h"

/* Arguments without the first n positional ones. */
static struct qr_jinja_args drop(const struct qr_jinja_args *args, size_t n)
{
    struct qr_jinja_args rest = *args;
    rest.pos += n;
    rest.n_pos -= n;
    return rest;
}

static struct qr_jinja_value keyword(const struct qr_jinja_args *args, const char *name)
{
    for (size_t i = 0; i < args->n_kw; i++)
        if (qr_jinja_str_is(args->kw_names[i].s, name))
            return args->kw_values[i];
    return qr_jinja_missing();
}

/* Items of the input; a false value such as none is empty, as in Jinja2. */
static quire_status input_items(struct qr_jinja *j, struct qr_jinja_value v,
                                struct qr_jinja_list *out)
{
    *out = (struct qr_jinja_list){ .n = 0 };
    return qr_jinja_truth(v) ? qr_jinja_iterate(j, v, out) : QUIRE_OK;
}

static quire_status f_map(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    struct qr_jinja_list items, *l;
    const struct qr_jinja_args *args = c->args;
    const struct qr_jinja_value attribute = keyword(args, "attribute"),
                                fallback = keyword(args, "default");
    const bool by_attribute = !args->n_pos;
    if (by_attribute && !qr_jinja_is_given(attribute))
        return qr_jinja_type_error(j, "map requires a filter argument");
    if (by_attribute && args->n_kw > 1u + qr_jinja_is_given(fallback))
        return qr_jinja_type_error(j, "Unexpected keyword argument");
    QR_TRY(input_items(j, c->self, &items));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GENERATOR, items.n, &l));
    for (size_t i = 0; i < items.n; i++) {
        if (by_attribute) {
            QR_TRY(qr_jinja_getattr_path(j, items.items[i], attribute, fallback, &l->items[i]));
            continue;
        }
        const struct qr_jinja_args rest = drop(args, 1);
        QR_TRY(qr_jinja_call_by_name(j, true, args->pos[0], items.items[i], &rest, &l->items[i]));
    }
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* Keeps the items whose test, or truth without a test, equals `wanted`. by_attr: tests an attribute
 * of the item. */
static quire_status select_items(struct qr_jinja *j, const struct qr_jinja_call *c, bool by_attr,
                                 bool wanted, struct qr_jinja_value *out)
{
    struct qr_jinja_list items, *l;
    const struct qr_jinja_args *args = c->args;
    const size_t off = by_attr;
    if (by_attr && !args->n_pos)
        return qr_jinja_type_error(j, "Missing parameter for attribute name");
    QR_TRY(input_items(j, c->self, &items));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GENERATOR, items.n, &l));
    l->n = 0;
    for (size_t i = 0; i < items.n; i++) {
        struct qr_jinja_value v = items.items[i];
        if (by_attr)
            QR_TRY(qr_jinja_getattr_path(j, v, args->pos[0], qr_jinja_missing(), &v));
        if (args->n_pos > off) {
            const struct qr_jinja_args rest = drop(args, off + 1);
            QR_TRY(qr_jinja_call_by_name(j, false, args->pos[off], v, &rest, &v));
        }
        if (qr_jinja_truth(v) == wanted)
            l->items[l->n++] = items.items[i];
    }
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status f_select(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return select_items(j, c, false, true, out);
}

static quire_status f_reject(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return select_items(j, c, false, false, out);
}

static quire_status f_selectattr(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return select_items(j, c, true, true, out);
}

static quire_status f_rejectattr(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return select_items(j, c, true, false, out);
}

static const struct qr_jinja_builtin filters[] = {
    { "map", f_map, "*", 0 },
    { "reject", f_reject, "*", 0 },
    { "rejectattr", f_rejectattr, "*", 0 },
    { "select", f_select, "*", 0 },
    { "selectattr", f_selectattr, "*", 0 },
};

const struct qr_jinja_builtin *qr_jinja_filters_select(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
