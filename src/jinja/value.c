/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_value.c - types, truth, comparison, membership and iteration of values, by Python's
 * rules. */
#include "jinja/call.h"
#include <math.h>

bool qr_j_str_is(const struct qr_j_str *s, const char *literal)
{
    return s->n == strlen(literal) && memcmp(s->p, literal, s->n) == 0;
}

const char *qr_j_type_name(struct qr_j_value v)
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
    return v.type == QR_J_LIST ? lists[v.l->flavor] : names[v.type];
}

/* Empty things are false; a generator is always true, even when nothing is left in it. */
bool qr_j_truth(struct qr_j_value v)
{
    switch (v.type) {
    case QR_J_MISSING:
    case QR_J_UNDEFINED:
    case QR_J_NONE:
        return false;
    case QR_J_BOOL:
        return v.b;
    case QR_J_INT:
        return v.i != 0;
    case QR_J_FLOAT:
        return v.f != 0;
    case QR_J_STR:
        return v.s->n != 0;
    case QR_J_LIST:
        return v.l->flavor == QR_J_GENERATOR || v.l->n != 0;
    case QR_J_DICT:
        return v.d->n != 0;
    case QR_J_RANGE:
        return v.r->n != 0;
    default:
        return true;
    }
}

bool qr_j_is_callable(struct qr_j_value v)
{
    /* Undefined has a __call__ too: one that fails */
    return v.type == QR_J_FUNCTION || v.type == QR_J_METHOD || v.type == QR_J_MACRO ||
           v.type == QR_J_LOOP || v.type == QR_J_JOINER || v.type == QR_J_UNDEFINED;
}

/* Sign of i - f without rounding i; f is not NaN. */
static int compare_int_double(int64_t i, double f)
{
    if (f >= 9223372036854775808.0)
        return -1;
    if (f < -9223372036854775808.0)
        return 1;
    const double whole = trunc(f);
    if (i != (int64_t)whole)
        return i < (int64_t)whole ? -1 : 1;
    return f > whole ? -1 : f < whole;
}

/* Sign of a - b for numbers; *unordered when one is NaN. */
static int compare_numbers(struct qr_j_value a, struct qr_j_value b, bool *unordered)
{
    *unordered = (a.type == QR_J_FLOAT && isnan(a.f)) || (b.type == QR_J_FLOAT && isnan(b.f));
    if (*unordered)
        return 0;
    if (a.type == QR_J_FLOAT && b.type == QR_J_FLOAT)
        return (a.f > b.f) - (a.f < b.f);
    if (a.type == QR_J_FLOAT)
        return -compare_int_double(qr_j_intlike(b), a.f);
    if (b.type == QR_J_FLOAT)
        return compare_int_double(qr_j_intlike(a), b.f);
    return (qr_j_intlike(a) > qr_j_intlike(b)) - (qr_j_intlike(a) < qr_j_intlike(b));
}

/* Depth is guarded by qr_j_equal. */
static quire_status equal_lists(struct qr_j *j, const struct qr_j_list *a,
                                const struct qr_j_list *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++)
        QR_TRY(qr_j_equal(j, a->items[i], b->items[i], out));
    return QUIRE_OK;
}

/* Order does not matter. */
static quire_status equal_dicts(struct qr_j *j, const struct qr_j_dict *a,
                                const struct qr_j_dict *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        struct qr_j_value *other;
        QR_TRY(qr_j_dict_find(j, b, a->entries[i].key, &other));
        *out = other != NULL;
        if (other)
            QR_TRY(qr_j_equal(j, a->entries[i].value, *other, out));
    }
    return QUIRE_OK;
}

/* Ranges are equal when their members are. */
static bool equal_ranges(const struct qr_j_range *a, const struct qr_j_range *b)
{
    return a->n == b->n &&
           (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

static quire_status equal_same_type(struct qr_j *j, struct qr_j_value a, struct qr_j_value b,
                                    bool *out)
{
    switch (a.type) {
    case QR_J_MISSING:
    case QR_J_UNDEFINED:
    case QR_J_NONE:
        *out = true;
        return QUIRE_OK;
    case QR_J_STR:
        QR_TRY(qr_j_work(j, a.s->n));
        *out = a.s->n == b.s->n && memcmp(a.s->p, b.s->p, a.s->n) == 0;
        return QUIRE_OK;
    case QR_J_LIST:
        if (a.l == b.l) {
            *out = true;
            return QUIRE_OK;
        }
        *out = false;
        if ((qr_j_is_tuple(a) && qr_j_is_tuple(b)) ||
            (qr_j_is_plain_list(a) && qr_j_is_plain_list(b)))
            return equal_lists(j, a.l, b.l, out);
        return QUIRE_OK;
    case QR_J_DICT:
        return equal_dicts(j, a.d, b.d, out);
    case QR_J_RANGE:
        *out = equal_ranges(a.r, b.r);
        return QUIRE_OK;
    case QR_J_METHOD:
        *out = a.m->fn == b.m->fn && a.m->self.type == b.m->self.type && a.m->self.s == b.m->self.s;
        return QUIRE_OK;
    default:
        *out = a.s == b.s; /* objects: the same one */
        return QUIRE_OK;
    }
}

quire_status qr_j_equal(struct qr_j *j, struct qr_j_value a, struct qr_j_value b, bool *out)
{
    QR_TRY(qr_j_step(j, 1));
    if (qr_j_is_number(a) && qr_j_is_number(b)) {
        bool unordered;
        *out = compare_numbers(a, b, &unordered) == 0 && !unordered;
        return QUIRE_OK;
    }
    *out = false;
    if (a.type != b.type)
        return QUIRE_OK;
    QR_TRY(qr_j_enter(j));
    QR_TRY(equal_same_type(j, a, b, out));
    qr_j_leave(j);
    return QUIRE_OK;
}

static bool order_holds(enum qr_j_order_op op, int sign)
{
    switch (op) {
    case QR_J_LT:
        return sign < 0;
    case QR_J_LE:
        return sign <= 0;
    case QR_J_GT:
        return sign > 0;
    default:
        return sign >= 0;
    }
}

/* The first pair of items that differ decides. */
static quire_status order_lists(struct qr_j *j, enum qr_j_order_op op, const struct qr_j_list *a,
                                const struct qr_j_list *b, bool *out)
{
    QR_TRY(qr_j_enter(j));
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool same;
        QR_TRY(qr_j_equal(j, a->items[i], b->items[i], &same));
        if (!same) {
            QR_TRY(qr_j_order(j, op, a->items[i], b->items[i], out));
            qr_j_leave(j);
            return QUIRE_OK;
        }
    }
    qr_j_leave(j);
    *out = order_holds(op, (a->n > b->n) - (a->n < b->n));
    return QUIRE_OK;
}

quire_status qr_j_order(struct qr_j *j, enum qr_j_order_op op, struct qr_j_value a,
                        struct qr_j_value b, bool *out)
{
    static const char *const signs[] = { "<", "<=", ">", ">=" };
    QR_TRY(qr_j_step(j, 1));
    if (qr_j_is_number(a) && qr_j_is_number(b)) {
        bool unordered;
        const int sign = compare_numbers(a, b, &unordered);
        *out = !unordered && order_holds(op, sign);
        return QUIRE_OK;
    }
    if (a.type == QR_J_STR && b.type == QR_J_STR) {
        /* UTF-8 sorts like its code points */
        const size_t n = a.s->n < b.s->n ? a.s->n : b.s->n;
        QR_TRY(qr_j_work(j, n));
        const int c = memcmp(a.s->p, b.s->p, n);
        *out = order_holds(op, c ? c : (a.s->n > b.s->n) - (a.s->n < b.s->n));
        return QUIRE_OK;
    }
    if ((qr_j_is_tuple(a) && qr_j_is_tuple(b)) || (qr_j_is_plain_list(a) && qr_j_is_plain_list(b)))
        return order_lists(j, op, a.l, b.l, out);
    if (qr_j_is_undefined(a) || qr_j_is_undefined(b))
        return qr_j_undefined_error(j, qr_j_is_undefined(a) ? a : b);
    return qr_j_type_error(j, "'%s' not supported between instances of '%s' and '%s'", signs[op],
                           qr_j_type_name(a), qr_j_type_name(b));
}

/* By comparing, since anything can be asked for: 1.0 is in range(2). */
static quire_status range_contains(struct qr_j *j, struct qr_j_value needle,
                                   const struct qr_j_range *r, bool *out)
{
    *out = false;
    for (int64_t i = 0; i < r->n && !*out; i++)
        QR_TRY(qr_j_equal(j, needle, qr_j_int(qr_j_range_at(r, i)), out));
    return QUIRE_OK;
}

quire_status qr_j_contains(struct qr_j *j, struct qr_j_value needle, struct qr_j_value hay,
                           bool *out)
{
    struct qr_j_value *found;
    *out = false;
    switch (hay.type) {
    case QR_J_STR:
        if (needle.type != QR_J_STR)
            return qr_j_type_error(j, "'in <string>' requires string as left operand, not %s",
                                   qr_j_type_name(needle));
        QR_TRY(qr_j_work(j, hay.s->n));
        *out = qr_j_find(hay.s, 0, needle.s) != SIZE_MAX;
        return QUIRE_OK;
    case QR_J_DICT:
        QR_TRY(qr_j_dict_find(j, hay.d, needle, &found));
        *out = found != NULL;
        return QUIRE_OK;
    case QR_J_RANGE:
        return range_contains(j, needle, hay.r, out);
    case QR_J_LIST: {
        struct qr_j_list *l = hay.l;
        size_t i = l->flavor == QR_J_GENERATOR ? l->taken : 0;
        while (i < l->n && !*out)
            QR_TRY(qr_j_equal(j, needle, l->items[i++], out));
        if (l->flavor == QR_J_GENERATOR)
            l->taken = i; /* what was looked at is consumed */
        return QUIRE_OK;
    }
    case QR_J_UNDEFINED:
        return QUIRE_OK;
    default:
        return qr_j_type_error(j, "argument of type '%s' is not iterable", qr_j_type_name(hay));
    }
}

quire_status qr_j_length(struct qr_j *j, struct qr_j_value v, int64_t *out)
{
    switch (v.type) {
    case QR_J_UNDEFINED:
        *out = 0;
        return QUIRE_OK;
    case QR_J_STR:
        QR_TRY(qr_j_work(j, v.s->n));
        *out = (int64_t)qr_j_count_chars(v.s->p, v.s->n);
        return QUIRE_OK;
    case QR_J_DICT:
        *out = (int64_t)v.d->n;
        return QUIRE_OK;
    case QR_J_RANGE:
        *out = v.r->n;
        return QUIRE_OK;
    case QR_J_LOOP:
        *out = (int64_t)v.loop->n;
        return QUIRE_OK;
    case QR_J_LIST:
        if (v.l->flavor != QR_J_GENERATOR) {
            *out = (int64_t)v.l->n;
            return QUIRE_OK;
        }
        break;
    default:
        break;
    }
    return qr_j_type_error(j, "object of type '%s' has no len()", qr_j_type_name(v));
}

bool qr_j_is_iterable(struct qr_j_value v)
{
    return v.type == QR_J_UNDEFINED || v.type == QR_J_STR || v.type == QR_J_LIST ||
           v.type == QR_J_DICT || v.type == QR_J_RANGE || v.type == QR_J_LOOP;
}

static quire_status new_items(struct qr_j *j, size_t n, struct qr_j_list *out)
{
    QR_TRY(qr_j_step(j, n));
    QR_J_NEW(j, out->items, n);
    out->n = n;
    return QUIRE_OK;
}

/* Iterating over text yields its characters. */
static quire_status chars_of(struct qr_j *j, const struct qr_j_str *s, struct qr_j_list *out)
{
    QR_TRY(new_items(j, qr_j_count_chars(s->p, s->n), out));
    for (size_t i = 0, off = 0; i < out->n; i++) {
        const size_t len = qr_j_char_len(s->p[off]);
        QR_TRY(qr_j_cut(j, s, off, len, &out->items[i]));
        off += len;
    }
    return QUIRE_OK;
}

/* Everything iterable is made a list: loops need its length anyway, and no value can change
 * meanwhile. */
quire_status qr_j_items(struct qr_j *j, struct qr_j_value v, struct qr_j_list *out)
{
    *out = (struct qr_j_list){ .flavor = QR_J_PLAIN };
    switch (v.type) {
    case QR_J_UNDEFINED:
        return QUIRE_OK;
    case QR_J_STR:
        return chars_of(j, v.s, out);
    case QR_J_DICT:
        QR_TRY(new_items(j, v.d->n, out));
        for (size_t i = 0; i < out->n; i++)
            out->items[i] = v.d->entries[i].key;
        return QUIRE_OK;
    case QR_J_RANGE:
        QR_TRY(new_items(j, (size_t)v.r->n, out));
        for (size_t i = 0; i < out->n; i++)
            out->items[i] = qr_j_int(qr_j_range_at(v.r, (int64_t)i));
        return QUIRE_OK;
    case QR_J_LIST:
        out->items = v.l->taken ? v.l->items + v.l->taken : v.l->items;
        out->n = v.l->n - v.l->taken;
        if (v.l->flavor == QR_J_GENERATOR)
            v.l->taken = v.l->n;
        return QUIRE_OK;
    default:
        return qr_j_type_error(j, "'%s' object is not iterable", qr_j_type_name(v));
    }
}
