/* SPDX-License-Identifier: Apache-2.0 */
/* array_shapes.c - alternatives of arrays without `contains` and uniqueItems. */
#include "grammar/json_schema/array_shapes.h"
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/finite.h"
#include "grammar/json_schema/normalize.h"

enum { MAX_PREFIX = 4096, MAX_ONCE = 256, MAX_UNIQUE = 4096, MAX_WORK = 1024 };

static bool unsupported(struct qr_schema *s, const struct qr_contains *c, const char *why)
{
    return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, c->at, c->at ? "contains" : NULL, "%s", why);
}

/* The alternative with at least n items in the prefix. */
static bool extend(struct qr_schema *s, struct qr_array_alt *alt, uint32_t n)
{
    if (n > MAX_PREFIX)
        return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "more than %d items", MAX_PREFIX);
    if (n < alt->n_prefix)
        n = alt->n_prefix;
    qr_expr *prefix = qr_schema_alloc(s, n, sizeof *prefix);
    if (!prefix)
        return false;
    for (uint32_t i = 0; i < n; i++)
        prefix[i] = qr_array_item(alt, i);
    alt->prefix = prefix;
    alt->n_prefix = n;
    return true;
}

/* Removes condition i. */
static bool drop(struct qr_schema *s, struct qr_array_alt *alt, uint32_t i)
{
    struct qr_contains *list = qr_schema_alloc(s, alt->n_contains, sizeof *list);
    if (!list)
        return false;
    memcpy(list, alt->contains, alt->n_contains * sizeof *list);
    list[i] = list[--alt->n_contains];
    alt->contains = list;
    return true;
}

/* No item from c->from on satisfies the condition. */
static bool exclude(struct qr_schema *s, struct qr_array_alt *alt, const struct qr_contains *c)
{
    const qr_expr other = qr_expr_not(s, c->item);
    if (!extend(s, alt, c->from))
        return false;
    qr_expr *prefix = (qr_expr *)alt->prefix; /* made by extend */
    for (uint32_t i = c->from; i < alt->n_prefix; i++)
        prefix[i] = qr_expr_and(s, prefix[i], other);
    alt->rest = qr_expr_and(s, alt->rest, other);
    return qr_schema_ok(s);
}

/* Appends the alternatives in which the item that satisfies condition i is in the prefix, and the
 * one in which it comes later. */
static bool place(struct qr_schema *s, const struct qr_array_alt *alt, uint32_t i,
                  struct qr_list *work)
{
    const struct qr_contains c = alt->contains[i];
    if (c.min != 1 || c.max != QR_UNLIMITED)
        return unsupported(s, &c, "minContains or maxContains beside prefixItems");
    for (uint32_t k = c.from; k < alt->n_prefix; k++) {
        struct qr_array_alt next = *alt;
        if (!extend(s, &next, 0) || !drop(s, &next, i))
            return false;
        ((qr_expr *)next.prefix)[k] = qr_expr_and(s, alt->prefix[k], c.item);
        next.min = next.min > k + 1 ? next.min : k + 1;
        if (!qr_list_push(s, work, &next, sizeof next))
            return false;
    }
    struct qr_array_alt later = *alt;
    if (!drop(s, &later, i))
        return false;
    struct qr_contains *list = (struct qr_contains *)later.contains; /* made by drop */
    list[later.n_contains] = c;
    list[later.n_contains++].from = alt->n_prefix;
    return qr_list_push(s, work, &later, sizeof later);
}

/* Items that satisfy conditions from the end of the prefix on: sets of conditions, one item for
 * each set, `groups` of them so far. */
static bool partition(struct qr_schema *s, const struct qr_array_alt *alt, uint32_t next,
                      struct qr_array_shape *shape, qr_expr *groups, struct qr_list *out)
{
    if (next == alt->n_contains) {
        struct qr_array_shape copy = *shape;
        qr_expr *once = qr_schema_alloc(s, shape->n_once, sizeof *once);
        if (!once || (shape->n_once && !memcpy(once, groups, shape->n_once * sizeof *once)))
            return false;
        copy.once = once;
        copy.n_required = copy.n_once;
        return qr_list_push(s, out, &copy, sizeof copy);
    }
    for (uint32_t i = 0; i <= shape->n_once; i++) {
        const bool more = i == shape->n_once;
        const qr_expr before = more ? alt->rest : groups[i];
        groups[i] = qr_expr_and(s, before, alt->contains[next].item);
        shape->n_once += more;
        const bool ok = partition(s, alt, next + 1, shape, groups, out);
        shape->n_once -= more;
        groups[i] = before;
        if (!ok)
            return false;
        if (more)
            break;
    }
    return true;
}

/* One condition with counts: copies of the item, the first `min` of them required. */
static bool count(struct qr_schema *s, const struct qr_array_alt *alt, struct qr_array_shape *shape,
                  struct qr_list *out)
{
    const struct qr_contains *c = alt->contains;
    const uint32_t n = c->max == QR_UNLIMITED ? c->min : c->max;
    if (n > MAX_ONCE)
        return unsupported(s, c, "minContains or maxContains above 256");
    qr_expr *once = qr_schema_alloc(s, n, sizeof *once);
    if (!once)
        return false;
    for (uint32_t i = 0; i < n; i++)
        once[i] = qr_expr_and(s, alt->rest, c->item);
    if (c->max != QR_UNLIMITED)
        shape->rest = qr_expr_and(s, alt->rest, qr_expr_not(s, c->item));
    shape->once = once;
    shape->n_once = n;
    shape->n_required = c->min;
    return qr_list_push(s, out, shape, sizeof *shape);
}

/* uniqueItems where the items are one of finitely many values. */
static bool unique(struct qr_schema *s, const struct qr_array_alt *alt,
                   struct qr_array_shape *shape, struct qr_list *out)
{
    struct qr_list values = { 0 };
    if (alt->n_prefix || alt->n_contains || !qr_finite_values(s, alt->rest, MAX_UNIQUE, &values))
        return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, alt->unique, "uniqueItems",
                              "items that are not one of a few given values cannot be compared");
    shape->once = values.items;
    shape->n_once = values.n;
    shape->rest = QR_EXPR_NONE;
    return qr_list_push(s, out, shape, sizeof *shape);
}

static bool shape_tail(struct qr_schema *s, const struct qr_array_alt *alt, struct qr_list *out)
{
    qr_expr groups[4];
    struct qr_array_shape shape = { .prefix = alt->prefix,
                                    .n_prefix = alt->n_prefix,
                                    .rest = alt->rest,
                                    .min = alt->min,
                                    .max = alt->max };
    if (alt->unique && alt->max > 1)
        return unique(s, alt, &shape, out);
    if (!alt->n_contains)
        return qr_list_push(s, out, &shape, sizeof shape);
    if (alt->n_contains == 1)
        return count(s, alt, &shape, out);
    for (uint32_t i = 0; i < alt->n_contains; i++)
        if (alt->n_contains > 4 || alt->contains[i].min != 1 ||
            alt->contains[i].max != QR_UNLIMITED)
            return unsupported(s, &alt->contains[i], "more than one condition with counts");
    return partition(s, alt, 0, &shape, groups, out);
}

/* Deals with one condition that is not about the items behind the prefix alone. */
static bool step(struct qr_schema *s, struct qr_array_alt *alt, struct qr_list *work, bool *done)
{
    *done = false;
    for (uint32_t i = 0; i < alt->n_contains; i++) {
        const struct qr_contains c = alt->contains[i];
        if (c.min > c.max) /* no such array */
            return true;
        if (!c.max)
            return exclude(s, alt, &c) && drop(s, alt, i) &&
                   qr_list_push(s, work, alt, sizeof *alt);
        if (c.from < alt->n_prefix)
            return place(s, alt, i, work);
        if (c.from > alt->n_prefix)
            return extend(s, alt, c.from) && qr_list_push(s, work, alt, sizeof *alt);
    }
    *done = true;
    return true;
}

bool qr_shape_array(struct qr_schema *s, const struct qr_array_alt *alt, struct qr_list *out)
{
    struct qr_list work = { 0 };
    bool done;
    if (!qr_list_push(s, &work, alt, sizeof *alt))
        return false;
    for (uint32_t i = 0; i < work.n; i++) {
        struct qr_array_alt next = ((const struct qr_array_alt *)work.items)[i];
        if (!step(s, &next, &work, &done) || (done && !shape_tail(s, &next, out)))
            return false;
        if (work.n > MAX_WORK)
            return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "too many conditions on items");
    }
    return qr_schema_check(s);
}
