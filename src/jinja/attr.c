/* SPDX-License-Identifier: Apache-2.0 */
/* attr.c - attributes and items of values. */
#include "jinja/attr.h"
#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/method.h"
#include "jinja/str.h"
#include "jinja/undefined.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

/* Makes a bound method, which is a value: {% set f = x.items %} is legal. */
static quire_status bind_method(struct qr_jinja *j, struct qr_jinja_value self,
                                const struct qr_jinja_builtin *fn, struct qr_jinja_value *out)
{
    struct qr_jinja_method *m;
    QR_JINJA_NEW(j, m, 1);
    m->self = self;
    m->fn = fn;
    *out = (struct qr_jinja_value){ .type = QR_JINJA_METHOD, .m = m };
    return QUIRE_OK;
}

static quire_status loop_attr(struct qr_jinja *j, const struct qr_jinja_loop *l,
                              const struct qr_jinja_str *name, bool *found,
                              struct qr_jinja_value *out)
{
    const int64_t i = (int64_t)l->index0, n = (int64_t)l->n;
    const struct {
        const char *name;
        struct qr_jinja_value value;
    } plain[] = {
        { "index", qr_jinja_int(i + 1) },
        { "index0", qr_jinja_int(i) },
        { "revindex", qr_jinja_int(n - i) },
        { "revindex0", qr_jinja_int(n - i - 1) },
        { "first", qr_jinja_bool(i == 0) },
        { "last", qr_jinja_bool(i + 1 == n) },
        { "length", qr_jinja_int(n) },
        { "depth", qr_jinja_int((int64_t)l->depth0 + 1) },
        { "depth0", qr_jinja_int((int64_t)l->depth0) },
    };
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (qr_jinja_str_is(name, plain[k].name)) {
            *found = true;
            *out = plain[k].value;
            return QUIRE_OK;
        }
    const bool previous = qr_jinja_str_is(name, "previtem"),
               next = qr_jinja_str_is(name, "nextitem");
    if (!previous && !next)
        return QUIRE_OK;
    *found = true;
    if (previous && i == 0)
        return qr_jinja_undefined_hint(j, "there is no previous item", out);
    if (next && i + 1 >= n)
        return qr_jinja_undefined_hint(j, "there is no next item", out);
    *out = l->items[previous ? i - 1 : i + 1];
    return QUIRE_OK;
}

/* Introspection of macros. */
static quire_status macro_attr(struct qr_jinja *j, const struct qr_jinja_macro *m,
                               const struct qr_jinja_str *name, bool *found,
                               struct qr_jinja_value *out)
{
    static const char *const flag_names[] = { "caller", "catch_kwargs", "catch_varargs" };
    *found = true;
    for (size_t i = 0; i < 3; i++)
        if (qr_jinja_str_is(name, flag_names[i])) {
            *out = qr_jinja_bool(m->node->flags >> i & 1);
            return QUIRE_OK;
        }
    if (qr_jinja_str_is(name, "name")) {
        *out = m->name.type == QR_JINJA_MISSING ? qr_jinja_none() : m->name;
        return QUIRE_OK;
    }
    *found = qr_jinja_str_is(name, "arguments");
    if (*found) {
        struct qr_jinja_list *l;
        size_t n = 0;
        for (const struct qr_jinja_node *p = m->node->a; p; p = p->next)
            n++;
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, n, &l));
        n = 0;
        for (const struct qr_jinja_node *p = m->node->a; p; p = p->next)
            l->items[n++] = p->value;
        *out = qr_jinja_list_value(l);
    }
    return QUIRE_OK;
}

/* Attributes that are not methods. */
static quire_status data_attr(struct qr_jinja *j, struct qr_jinja_value obj,
                              struct qr_jinja_value name, bool *found, struct qr_jinja_value *out)
{
    struct qr_jinja_value *slot = NULL;
    switch (obj.type) {
    case QR_JINJA_NAMESPACE:
        QR_TRY(qr_jinja_dict_find(j, obj.d, name, &slot));
        break;
    case QR_JINJA_LOOP:
        return loop_attr(j, obj.loop, name.s, found, out);
    case QR_JINJA_MACRO:
        return macro_attr(j, obj.macro, name.s, found, out);
    case QR_JINJA_CYCLER:
        if (qr_jinja_str_is(name.s, "current"))
            slot = (struct qr_jinja_value *)&obj.cycler->items[obj.cycler->pos];
        break;
    case QR_JINJA_JOINER:
        if (qr_jinja_str_is(name.s, "sep"))
            slot = &obj.joiner->sep;
        break;
    case QR_JINJA_LIST:
        if (obj.l->kind == QR_JINJA_LIST_GROUP && qr_jinja_str_is(name.s, "grouper"))
            slot = &obj.l->items[0];
        else if (obj.l->kind == QR_JINJA_LIST_GROUP && qr_jinja_str_is(name.s, "list"))
            slot = &obj.l->items[1];
        break;
    case QR_JINJA_RANGE:
        *found = true;
        if (qr_jinja_str_is(name.s, "start"))
            *out = qr_jinja_int(obj.r->start);
        else if (qr_jinja_str_is(name.s, "stop"))
            *out = qr_jinja_int(obj.r->stop);
        else if (qr_jinja_str_is(name.s, "step"))
            *out = qr_jinja_int(obj.r->step);
        else
            *found = false;
        return QUIRE_OK;
    default:
        break;
    }
    if (slot) {
        *found = true;
        *out = *slot;
    }
    return QUIRE_OK;
}

/* Data attributes take precedence over methods, as an instance dictionary does in Python. */
quire_status qr_jinja_find_attr(struct qr_jinja *j, struct qr_jinja_value obj,
                                struct qr_jinja_value name, bool *found, struct qr_jinja_value *out)
{
    bool unsafe = false;
    *found = false;
    QR_TRY(data_attr(j, obj, name, found, out));
    if (*found)
        return QUIRE_OK;
    const struct qr_jinja_builtin *method = qr_jinja_method_find(obj, name.s, &unsafe);
    *found = method || unsafe;
    if (method)
        return bind_method(j, obj, method, out);
    return unsafe ? qr_jinja_undefined_unsafe(j, obj, name, out) : QUIRE_OK;
}

/* Attributes take precedence over items: x.items is the method even if x has the key "items". */
quire_status qr_jinja_getattr(struct qr_jinja *j, struct qr_jinja_value obj,
                              struct qr_jinja_value name, struct qr_jinja_value *out)
{
    bool found;
    if (qr_jinja_is_undefined(obj))
        return qr_jinja_undefined_error(j, obj);
    QR_TRY(qr_jinja_find_attr(j, obj, name, &found, out));
    if (found)
        return QUIRE_OK;
    if (obj.type == QR_JINJA_DICT) {
        struct qr_jinja_value *slot;
        QR_TRY(qr_jinja_dict_find(j, obj.d, name, &slot));
        if (slot) {
            *out = *slot;
            return QUIRE_OK;
        }
    }
    return qr_jinja_undefined_attr(j, obj, name, out);
}

/* obj[i] of a sequence; leaves *found false if there is no such item. */
static quire_status sequence_item(struct qr_jinja *j, struct qr_jinja_value obj, int64_t i,
                                  bool *found, struct qr_jinja_value *out)
{
    int64_t n;
    const bool subscriptable = obj.type == QR_JINJA_STR || obj.type == QR_JINJA_RANGE ||
                               qr_jinja_is_tuple(obj) || qr_jinja_is_plain_list(obj);
    if (!subscriptable)
        return QUIRE_OK;
    QR_TRY(qr_jinja_length(j, obj, &n));
    if (i < 0)
        i += n;
    if (i < 0 || i >= n)
        return QUIRE_OK;
    *found = true;
    if (obj.type == QR_JINJA_STR) {
        const size_t off = qr_jinja_char_offset(obj.s, (size_t)i);
        return qr_jinja_substr(j, obj.s, off, qr_jinja_utf8_len(obj.s->p[off]), out);
    }
    *out = obj.type == QR_JINJA_RANGE ? qr_jinja_int(qr_jinja_range_at(obj.r, i)) : obj.l->items[i];
    return QUIRE_OK;
}

/* Items take precedence over attributes: x["items"] is the item if there is one. */
quire_status qr_jinja_getitem(struct qr_jinja *j, struct qr_jinja_value obj,
                              struct qr_jinja_value key, struct qr_jinja_value *out)
{
    bool found = false;
    if (qr_jinja_is_undefined(obj))
        return qr_jinja_undefined_error(j, obj);
    if (obj.type == QR_JINJA_DICT) {
        struct qr_jinja_value *slot = NULL;
        const bool hashable =
            key.type != QR_JINJA_DICT && (key.type != QR_JINJA_LIST || qr_jinja_is_tuple(key));
        if (hashable)
            QR_TRY(qr_jinja_dict_find(j, obj.d, key, &slot));
        if (slot) {
            *out = *slot;
            return QUIRE_OK;
        }
    } else if (qr_jinja_is_integral(key)) {
        QR_TRY(sequence_item(j, obj, qr_jinja_integral(key), &found, out));
    }
    if (!found && key.type == QR_JINJA_STR)
        QR_TRY(qr_jinja_find_attr(j, obj, key, &found, out));
    return found ? QUIRE_OK : qr_jinja_undefined_attr(j, obj, key, out);
}

/* Whether s is a decimal number of less than 18 digits, which fits int64_t. */
static bool all_digits(const struct qr_jinja_str *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
    return s->n > 0 && s->n < 18;
}

quire_status qr_jinja_getattr_path(struct qr_jinja *j, struct qr_jinja_value obj,
                                   struct qr_jinja_value path, struct qr_jinja_value fallback,
                                   struct qr_jinja_value *out)
{
    *out = obj;
    if (path.type == QR_JINJA_MISSING || path.type == QR_JINJA_NONE)
        return QUIRE_OK;
    const bool text = path.type == QR_JINJA_STR;
    for (size_t from = 0, end; !text || from <= path.s->n; from = end + 1) {
        struct qr_jinja_value part = path;
        end = 0;
        if (text) {
            const char *dot = memchr(path.s->p + from, '.', path.s->n - from);
            end = dot ? (size_t)(dot - path.s->p) : path.s->n;
            QR_TRY(qr_jinja_substr(j, path.s, from, end - from, &part));
            if (all_digits(part.s)) {
                int64_t i = 0;
                for (size_t k = 0; k < part.s->n; k++)
                    i = i * 10 + (part.s->p[k] - '0');
                part = qr_jinja_int(i);
            }
        }
        QR_TRY(qr_jinja_getitem(j, *out, part, out));
        const bool has_fallback =
            fallback.type != QR_JINJA_MISSING && fallback.type != QR_JINJA_NONE;
        if (has_fallback && qr_jinja_is_undefined(*out))
            *out = fallback;
        if (!text)
            break;
    }
    return QUIRE_OK;
}
