/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - equality, order and membership of values, by Python's rules. */
#include "jinja/compare.h"
#include "base/error.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/undefined.h"
#include "jinja/value.h"
#include <math.h>
#include <string.h>

/* Sign of i - f, computed without rounding i. f is not NaN. */
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

/* Sign of a - b for numbers; *unordered: one of them is NaN. */
static int compare_numbers(struct qr_jinja_value a, struct qr_jinja_value b, bool *unordered)
{
    *unordered =
        (a.type == QR_JINJA_FLOAT && isnan(a.f)) || (b.type == QR_JINJA_FLOAT && isnan(b.f));
    if (*unordered)
        return 0;
    if (a.type == QR_JINJA_FLOAT && b.type == QR_JINJA_FLOAT)
        return (a.f > b.f) - (a.f < b.f);
    if (a.type == QR_JINJA_FLOAT)
        return -compare_int_double(qr_jinja_integral(b), a.f);
    if (b.type == QR_JINJA_FLOAT)
        return compare_int_double(qr_jinja_integral(a), b.f);
    return (qr_jinja_integral(a) > qr_jinja_integral(b)) -
           (qr_jinja_integral(a) < qr_jinja_integral(b));
}

/* qr_jinja_equal bounds the recursion. */
static quire_status equal_lists(struct qr_jinja *j, const struct qr_jinja_list *a,
                                const struct qr_jinja_list *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++)
        QR_TRY(qr_jinja_equal(j, a->items[i], b->items[i], out));
    return QUIRE_OK;
}

/* The order of the entries is irrelevant. */
static quire_status equal_dicts(struct qr_jinja *j, const struct qr_jinja_dict *a,
                                const struct qr_jinja_dict *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        struct qr_jinja_value *other;
        QR_TRY(qr_jinja_dict_find(j, b, a->entries[i].key, &other));
        *out = other != NULL;
        if (other)
            QR_TRY(qr_jinja_equal(j, a->entries[i].value, *other, out));
    }
    return QUIRE_OK;
}

/* Ranges are equal if they have the same elements. */
static bool equal_ranges(const struct qr_jinja_range *a, const struct qr_jinja_range *b)
{
    return a->n == b->n &&
           (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

static quire_status equal_same_type(struct qr_jinja *j, struct qr_jinja_value a,
                                    struct qr_jinja_value b, bool *out)
{
    switch (a.type) {
    case QR_JINJA_MISSING:
    case QR_JINJA_UNDEFINED:
    case QR_JINJA_NONE:
        *out = true;
        return QUIRE_OK;
    case QR_JINJA_STR:
        QR_TRY(qr_jinja_charge_bytes(j, a.s->n));
        *out = a.s->n == b.s->n && memcmp(a.s->p, b.s->p, a.s->n) == 0;
        return QUIRE_OK;
    case QR_JINJA_LIST:
        if (a.l == b.l) {
            *out = true;
            return QUIRE_OK;
        }
        *out = false;
        if ((qr_jinja_is_tuple(a) && qr_jinja_is_tuple(b)) ||
            (qr_jinja_is_plain_list(a) && qr_jinja_is_plain_list(b)))
            return equal_lists(j, a.l, b.l, out);
        return QUIRE_OK;
    case QR_JINJA_DICT:
        return equal_dicts(j, a.d, b.d, out);
    case QR_JINJA_RANGE:
        *out = equal_ranges(a.r, b.r);
        return QUIRE_OK;
    case QR_JINJA_METHOD:
        *out = a.m->fn == b.m->fn && a.m->self.s == b.m->self.s;
        return QUIRE_OK;
    default:
        *out = a.s == b.s; /* objects: by identity */
        return QUIRE_OK;
    }
}

quire_status qr_jinja_equal(struct qr_jinja *j, struct qr_jinja_value a, struct qr_jinja_value b,
                            bool *out)
{
    QR_TRY(qr_jinja_charge(j, 1));
    if (qr_jinja_is_number(a) && qr_jinja_is_number(b)) {
        bool unordered;
        *out = compare_numbers(a, b, &unordered) == 0 && !unordered;
        return QUIRE_OK;
    }
    *out = false;
    if (a.type != b.type)
        return QUIRE_OK;
    QR_TRY(qr_jinja_enter(j));
    QR_TRY(equal_same_type(j, a, b, out));
    qr_jinja_leave(j);
    return QUIRE_OK;
}

static bool order_holds(enum qr_jinja_order_op op, int sign)
{
    switch (op) {
    case QR_JINJA_LT:
        return sign < 0;
    case QR_JINJA_LE:
        return sign <= 0;
    case QR_JINJA_GT:
        return sign > 0;
    default:
        return sign >= 0;
    }
}

/* Lexicographic: the first pair of unequal items decides. */
static quire_status order_lists(struct qr_jinja *j, enum qr_jinja_order_op op,
                                const struct qr_jinja_list *a, const struct qr_jinja_list *b,
                                bool *out)
{
    QR_TRY(qr_jinja_enter(j));
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool same;
        QR_TRY(qr_jinja_equal(j, a->items[i], b->items[i], &same));
        if (!same) {
            QR_TRY(qr_jinja_order(j, op, a->items[i], b->items[i], out));
            qr_jinja_leave(j);
            return QUIRE_OK;
        }
    }
    qr_jinja_leave(j);
    *out = order_holds(op, (a->n > b->n) - (a->n < b->n));
    return QUIRE_OK;
}

quire_status qr_jinja_order(struct qr_jinja *j, enum qr_jinja_order_op op, struct qr_jinja_value a,
                            struct qr_jinja_value b, bool *out)
{
    static const char *const signs[] = { "<", "<=", ">", ">=" };
    QR_TRY(qr_jinja_charge(j, 1));
    if (qr_jinja_is_number(a) && qr_jinja_is_number(b)) {
        bool unordered;
        const int sign = compare_numbers(a, b, &unordered);
        *out = !unordered && order_holds(op, sign);
        return QUIRE_OK;
    }
    if (a.type == QR_JINJA_STR && b.type == QR_JINJA_STR) {
        /* byte order of UTF-8 is code point order */
        const size_t n = a.s->n < b.s->n ? a.s->n : b.s->n;
        QR_TRY(qr_jinja_charge_bytes(j, n));
        const int c = memcmp(a.s->p, b.s->p, n);
        *out = order_holds(op, c ? c : (a.s->n > b.s->n) - (a.s->n < b.s->n));
        return QUIRE_OK;
    }
    if ((qr_jinja_is_tuple(a) && qr_jinja_is_tuple(b)) ||
        (qr_jinja_is_plain_list(a) && qr_jinja_is_plain_list(b)))
        return order_lists(j, op, a.l, b.l, out);
    if (qr_jinja_is_undefined(a) || qr_jinja_is_undefined(b))
        return qr_jinja_undefined_error(j, qr_jinja_is_undefined(a) ? a : b);
    return qr_jinja_type_error(j, "'%s' not supported between instances of '%s' and '%s'",
                               signs[op], qr_jinja_type_name(a), qr_jinja_type_name(b));
}

/* Compares with each element, because needle may be of any type: 1.0 is in range(2). */
static quire_status range_contains(struct qr_jinja *j, struct qr_jinja_value needle,
                                   const struct qr_jinja_range *r, bool *out)
{
    *out = false;
    for (int64_t i = 0; i < r->n && !*out; i++)
        QR_TRY(qr_jinja_equal(j, needle, qr_jinja_int(qr_jinja_range_at(r, i)), out));
    return QUIRE_OK;
}

quire_status qr_jinja_contains(struct qr_jinja *j, struct qr_jinja_value needle,
                               struct qr_jinja_value hay, bool *out)
{
    struct qr_jinja_value *found;
    *out = false;
    switch (hay.type) {
    case QR_JINJA_STR:
        if (needle.type != QR_JINJA_STR)
            return qr_jinja_type_error(j, "'in <string>' requires string as left operand, not %s",
                                       qr_jinja_type_name(needle));
        QR_TRY(qr_jinja_charge_bytes(j, hay.s->n));
        *out = qr_jinja_str_find(hay.s, 0, needle.s) != SIZE_MAX;
        return QUIRE_OK;
    case QR_JINJA_DICT:
        QR_TRY(qr_jinja_dict_find(j, hay.d, needle, &found));
        *out = found != NULL;
        return QUIRE_OK;
    case QR_JINJA_RANGE:
        return range_contains(j, needle, hay.r, out);
    case QR_JINJA_LIST: {
        struct qr_jinja_list *l = hay.l;
        size_t i = l->kind == QR_JINJA_LIST_GENERATOR ? l->consumed : 0;
        while (i < l->n && !*out)
            QR_TRY(qr_jinja_equal(j, needle, l->items[i++], out));
        if (l->kind == QR_JINJA_LIST_GENERATOR)
            l->consumed = i; /* the compared items */
        return QUIRE_OK;
    }
    case QR_JINJA_UNDEFINED:
        return QUIRE_OK;
    default:
        return qr_jinja_type_error(j, "argument of type '%s' is not iterable",
                                   qr_jinja_type_name(hay));
    }
}
