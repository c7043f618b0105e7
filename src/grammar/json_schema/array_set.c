/* SPDX-License-Identifier: Apache-2.0 */
/* array_set.c - sets of arrays: unions of alternatives. */
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/normalize.h"

const struct qr_array_alt qr_array_any = { .rest = QR_EXPR_ALL, .max = QR_UNLIMITED };

/* ---- Intersection */

static bool and_contains(struct qr_schema *s, const struct qr_array_alt *a,
                         const struct qr_array_alt *b, struct qr_array_alt *out)
{
    struct qr_contains *list = qr_schema_alloc(s, a->n_contains + b->n_contains, sizeof *list);
    if (!list)
        return false;
    if (a->n_contains)
        memcpy(list, a->contains, a->n_contains * sizeof *list);
    uint32_t n = a->n_contains;
    for (uint32_t i = 0; i < b->n_contains; i++) {
        const struct qr_contains *c = &b->contains[i];
        struct qr_contains *same = NULL;
        for (uint32_t k = 0; k < n && !same; k++)
            if (list[k].item == c->item && list[k].from == c->from)
                same = &list[k];
        if (same) {
            same->min = same->min > c->min ? same->min : c->min;
            same->max = same->max < c->max ? same->max : c->max;
        } else {
            list[n++] = *c;
        }
    }
    out->contains = list;
    out->n_contains = n;
    return true;
}

static bool and_alt(struct qr_schema *s, const struct qr_array_alt *a, const struct qr_array_alt *b,
                    struct qr_array_alt *out)
{
    const uint32_t n = a->n_prefix > b->n_prefix ? a->n_prefix : b->n_prefix;
    qr_expr *prefix = qr_schema_alloc(s, n, sizeof *prefix);
    *out = (struct qr_array_alt){ .prefix = prefix,
                                  .n_prefix = n,
                                  .min = a->min > b->min ? a->min : b->min,
                                  .max = a->max < b->max ? a->max : b->max,
                                  .unique = a->unique ? a->unique : b->unique,
                                  .evaluated =
                                      a->evaluated > b->evaluated ? a->evaluated : b->evaluated };
    if (!prefix)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        prefix[i] = qr_expr_and(s, qr_array_item(a, i), qr_array_item(b, i));
        if (prefix[i] == QR_EXPR_NONE && out->max > i)
            out->max = i;
    }
    out->rest = qr_expr_and(s, a->rest, b->rest);
    if (out->rest == QR_EXPR_NONE && out->max > n)
        out->max = n;
    return and_contains(s, a, b, out) && qr_schema_check(s);
}

static bool obviously_none(const struct qr_array_alt *a)
{
    uint32_t max = a->max;
    for (uint32_t i = 0; i < a->n_prefix && i < max; i++)
        if (a->prefix[i] == QR_EXPR_NONE)
            max = i;
    if (a->rest == QR_EXPR_NONE && max > a->n_prefix)
        max = a->n_prefix;
    for (uint32_t i = 0; i < a->n_contains; i++) {
        const struct qr_contains *c = &a->contains[i];
        if (c->min > c->max || (c->min && (c->item == QR_EXPR_NONE || c->from >= max)))
            return true;
    }
    return a->min > max;
}

static bool same_alt(const struct qr_array_alt *a, const struct qr_array_alt *b)
{
    return a->n_prefix == b->n_prefix && !a->n_contains && !b->n_contains && a->rest == b->rest &&
           a->min == b->min && a->max == b->max && a->unique == b->unique &&
           a->evaluated == b->evaluated &&
           (!a->n_prefix || memcmp(a->prefix, b->prefix, a->n_prefix * sizeof *a->prefix) == 0);
}

/* Appends an alternative unless it is empty or there already. */
static bool add_alt(struct qr_schema *s, struct qr_list *list, const struct qr_array_alt *alt)
{
    const struct qr_array_alt *items = list->items;
    if (obviously_none(alt))
        return true;
    for (uint32_t i = 0; i < list->n && i < 64; i++)
        if (same_alt(&items[i], alt))
            return true;
    if (list->n >= QR_SCHEMA_MAX_ALTERNATIVES)
        return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "more than %d alternatives of an array",
                              QR_SCHEMA_MAX_ALTERNATIVES);
    return qr_list_push(s, list, alt, sizeof *alt);
}

static void finish(const struct qr_list *list, struct qr_value_set *out)
{
    out->arrays = list->items;
    out->n_arrays = list->n;
}

bool qr_arrays_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    struct qr_array_alt alt;
    if (a->arrays == &qr_array_any || b->arrays == &qr_array_any) {
        const struct qr_value_set *other = a->arrays == &qr_array_any ? b : a;
        out->arrays = other->arrays;
        out->n_arrays = other->n_arrays;
        return true;
    }
    for (uint32_t i = 0; i < a->n_arrays; i++)
        for (uint32_t k = 0; k < b->n_arrays; k++)
            if (!and_alt(s, &a->arrays[i], &b->arrays[k], &alt) || !add_alt(s, &list, &alt))
                return false;
    finish(&list, out);
    return true;
}

bool qr_arrays_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                  struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    const bool all = a->arrays == &qr_array_any && !s->track_evaluated;
    if (!a->n_arrays || !b->n_arrays || all ||
        (b->arrays == &qr_array_any && !s->track_evaluated)) {
        const struct qr_value_set *from = !b->n_arrays || all ? a : b;
        out->arrays = from->arrays;
        out->n_arrays = from->n_arrays;
        return true;
    }
    for (uint32_t i = 0; i < a->n_arrays; i++)
        if (!add_alt(s, &list, &a->arrays[i]))
            return false;
    for (uint32_t i = 0; i < b->n_arrays; i++)
        if (!add_alt(s, &list, &b->arrays[i]))
            return false;
    finish(&list, out);
    return true;
}

/* ---- Complement */

/* Appends the arrays where item i is present and not in its set. */
static bool not_item(struct qr_schema *s, const struct qr_array_alt *a, uint32_t i,
                     struct qr_list *out)
{
    qr_expr *prefix = qr_schema_alloc(s, i + 1, sizeof *prefix);
    struct qr_array_alt alt = qr_array_any;
    if (!prefix)
        return false;
    for (uint32_t k = 0; k < i; k++)
        prefix[k] = QR_EXPR_ALL;
    prefix[i] = qr_expr_not(s, a->prefix[i]);
    alt.prefix = prefix;
    alt.n_prefix = i + 1;
    alt.min = i + 1;
    return add_alt(s, out, &alt);
}

static bool add_contains(struct qr_schema *s, const struct qr_contains *c, struct qr_list *out)
{
    struct qr_contains *copy = qr_schema_alloc(s, 1, sizeof *copy);
    struct qr_array_alt alt = qr_array_any;
    if (!copy)
        return false;
    *copy = *c;
    alt.contains = copy;
    alt.n_contains = 1;
    return add_alt(s, out, &alt);
}

static bool not_contains(struct qr_schema *s, const struct qr_contains *c, struct qr_list *out)
{
    struct qr_contains few = *c, many = *c;
    few.min = 0;
    few.max = c->min - 1;
    many.min = c->max + 1;
    many.max = QR_UNLIMITED;
    return (!c->min || add_contains(s, &few, out)) &&
           (c->max == QR_UNLIMITED || add_contains(s, &many, out));
}

static bool not_alt(struct qr_schema *s, const struct qr_array_alt *a, struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    struct qr_array_alt few = qr_array_any, many = qr_array_any;
    if (a->unique)
        return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, a->unique, "uniqueItems",
                              "the negation of uniqueItems");
    for (uint32_t i = 0; i < a->n_prefix; i++)
        if (a->prefix[i] != QR_EXPR_ALL && !not_item(s, a, i, &list))
            return false;
    if (a->rest == QR_EXPR_NONE) {
        struct qr_array_alt longer = qr_array_any;
        longer.min = a->n_prefix + 1;
        if (!add_alt(s, &list, &longer))
            return false;
    } else if (a->rest != QR_EXPR_ALL) {
        const struct qr_contains c = { qr_expr_not(s, a->rest), a->n_prefix, 1, QR_UNLIMITED,
                                       NULL };
        if (!add_contains(s, &c, &list))
            return false;
    }
    for (uint32_t i = 0; i < a->n_contains; i++)
        if (!not_contains(s, &a->contains[i], &list))
            return false;
    few.max = a->min - 1;
    many.min = a->max + 1;
    if ((a->min && !add_alt(s, &list, &few)) ||
        (a->max != QR_UNLIMITED && !add_alt(s, &list, &many)))
        return false;
    finish(&list, out);
    return qr_schema_check(s);
}

bool qr_arrays_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out)
{
    struct qr_value_set rest = { .arrays = &qr_array_any, .n_arrays = 1 };
    for (uint32_t i = 0; i < a->n_arrays && rest.n_arrays; i++) {
        struct qr_value_set other = { 0 }, next = { 0 };
        if (!not_alt(s, &a->arrays[i], &other) || !qr_arrays_and(s, &rest, &other, &next))
            return false;
        rest = next;
    }
    out->arrays = rest.arrays;
    out->n_arrays = rest.n_arrays;
    return true;
}

/* ---- Emptiness */

bool qr_array_is_none(struct qr_schema *s, const struct qr_array_alt *a)
{
    if (obviously_none(a))
        return true;
    for (uint32_t i = 0; i < a->n_prefix && i < a->min; i++)
        if (qr_expr_is_none(s, a->prefix[i]))
            return true;
    return a->min > a->n_prefix && qr_expr_is_none(s, a->rest);
}

bool qr_arrays_disjoint(struct qr_schema *s, const struct qr_array_alt *a,
                        const struct qr_array_alt *b)
{
    struct qr_array_alt both;
    return and_alt(s, a, b, &both) && qr_array_is_none(s, &both);
}
