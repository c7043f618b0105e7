/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - constructs and classifies values. */
#include "jinja/value.h"
#include "base/error.h"
#include "jinja/interp.h"
#include <string.h>

quire_status qr_jinja_str_borrow(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_str *s;
    QR_JINJA_NEW(j, s, 1);
    s->p = p;
    s->n = n;
    s->tainted = tainted;
    *out = qr_jinja_str_value(s);
    return QUIRE_OK;
}

quire_status qr_jinja_str_literal(struct qr_jinja *j, const char *literal,
                                  struct qr_jinja_value *out)
{
    return qr_jinja_str_borrow(j, literal, strlen(literal), false, out);
}

quire_status qr_jinja_list_new(struct qr_jinja *j, enum qr_jinja_list_kind kind, size_t n,
                               struct qr_jinja_list **out)
{
    struct qr_jinja_list *l;
    *out = NULL;
    QR_TRY(qr_jinja_charge(j, n));
    QR_JINJA_NEW(j, l, 1);
    if (n)
        QR_JINJA_NEW(j, l->items, n);
    l->kind = kind;
    l->n = n;
    *out = l;
    return QUIRE_OK;
}

quire_status qr_jinja_pair(struct qr_jinja *j, struct qr_jinja_value a, struct qr_jinja_value b,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, 2, &l));
    l->items[0] = a;
    l->items[1] = b;
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

const char *qr_jinja_type_name(struct qr_jinja_value v)
{
    static const char *const lists[] = { "list",        "tuple",      "tuple",    "dict_keys",
                                         "dict_values", "dict_items", "generator" };
    static const char *const names[] = { "missing",
                                         "Undefined",
                                         "NoneType",
                                         "bool",
                                         "int",
                                         "float",
                                         "str",
                                         "list",
                                         "dict",
                                         "range",
                                         "Namespace",
                                         "function",
                                         "builtin_function_or_method",
                                         "Macro",
                                         "LoopContext",
                                         "Cycler",
                                         "Joiner" };
    return v.type == QR_JINJA_LIST ? lists[v.l->kind] : names[v.type];
}

/* Empty containers are false. A generator is always true, even when it is exhausted. */
bool qr_jinja_truth(struct qr_jinja_value v)
{
    switch (v.type) {
    case QR_JINJA_MISSING:
    case QR_JINJA_UNDEFINED:
    case QR_JINJA_NONE:
        return false;
    case QR_JINJA_BOOL:
        return v.b;
    case QR_JINJA_INT:
        return v.i != 0;
    case QR_JINJA_FLOAT:
        return v.f != 0;
    case QR_JINJA_STR:
        return v.s->n != 0;
    case QR_JINJA_LIST:
        return v.l->kind == QR_JINJA_LIST_GENERATOR || v.l->n != 0;
    case QR_JINJA_DICT:
        return v.d->n != 0;
    case QR_JINJA_RANGE:
        return v.r->n != 0;
    default:
        return true;
    }
}

bool qr_jinja_is_callable(struct qr_jinja_value v)
{
    /* Undefined has a __call__ in Jinja2, which raises. */
    return v.type == QR_JINJA_FUNCTION || v.type == QR_JINJA_METHOD || v.type == QR_JINJA_MACRO ||
           v.type == QR_JINJA_LOOP || v.type == QR_JINJA_JOINER || v.type == QR_JINJA_UNDEFINED;
}
