/* SPDX-License-Identifier: Apache-2.0 */
/* filter_sequence.c - filters on sequences and mappings. */
#include "jinja/filter_sequence.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/arith.h"
#include "jinja/attr.h"
#include "jinja/case_map.h"
#include "jinja/compare.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/sort.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/value.h"
#include <string.h>

static quire_status f_length(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    int64_t n;
    QR_TRY(qr_jinja_length(j, c->self, &n));
    *out = qr_jinja_int(n);
    return QUIRE_OK;
}

static quire_status f_first(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list items;
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    if (qr_jinja_is_generator(c->self)) /* gives back all items but the first */
        c->self.l->consumed -= items.n - (items.n > 0);
    if (!items.n)
        return qr_jinja_undefined_hint(j, "No first item, sequence was empty.", out);
    *out = items.items[0];
    return QUIRE_OK;
}

static quire_status f_last(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_list items;
    if (qr_jinja_is_generator(c->self))
        return qr_jinja_type_error(j, "'generator' object is not reversible");
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    if (!items.n)
        return qr_jinja_undefined_hint(j, "No last item, sequence was empty.", out);
    *out = items.items[items.n - 1];
    return QUIRE_OK;
}

/* Copies the items of v to a new list. */
static quire_status copy_items(struct qr_jinja *j, struct qr_jinja_value v,
                               enum qr_jinja_list_kind kind, struct qr_jinja_list **out)
{
    struct qr_jinja_list items;
    QR_TRY(qr_jinja_iterate(j, v, &items));
    QR_TRY(qr_jinja_list_new(j, kind, items.n, out));
    if (items.n)
        memcpy((*out)->items, items.items, items.n * sizeof *items.items);
    return QUIRE_OK;
}

static quire_status f_list(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(copy_items(j, c->self, QR_JINJA_LIST_PLAIN, &l));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* Yields a string for a string, else an iterator. */
static quire_status f_reverse(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    struct qr_jinja_sb sb;
    QR_TRY(copy_items(j, c->self, QR_JINJA_LIST_GENERATOR, &l));
    for (size_t i = 0; i < l->n / 2; i++) {
        const struct qr_jinja_value v = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = v;
    }
    *out = qr_jinja_list_value(l);
    if (c->self.type != QR_JINJA_STR)
        return QUIRE_OK;
    qr_jinja_sb_init(&sb, j);
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(qr_jinja_sb_append_str(&sb, l->items[i].s));
    return qr_jinja_sb_finish(&sb, out);
}

/* dict.items(); an undefined value has no items. */
static quire_status f_items(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    const size_t n = c->self.type == QR_JINJA_DICT ? c->self.d->n : 0;
    if (c->self.type != QR_JINJA_DICT && !qr_jinja_is_undefined(c->self))
        return qr_jinja_type_error(j, "Can only get item pairs from a mapping.");
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GENERATOR, n, &l));
    for (size_t i = 0; i < n; i++)
        QR_TRY(
            qr_jinja_pair(j, c->self.d->entries[i].key, c->self.d->entries[i].value, &l->items[i]));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status f_attr(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    const struct qr_jinja_str *name;
    bool found = false;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &name));
    if (qr_jinja_is_undefined(c->self))
        return qr_jinja_undefined_error(j, c->self);
    QR_TRY(qr_jinja_find_attr(j, c->self, c->arg[0], &found, out));
    return found ? QUIRE_OK : qr_jinja_undefined_attr(j, c->self, c->arg[0], out);
}

/* batch(linecount, fill_with): lists of `linecount` items; fill_with pads the last one. */
static quire_status f_batch(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list items, *all, *row;
    int64_t want;
    QR_TRY(qr_jinja_expect_int(j, c->arg[0], &want));
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    if (want < 1)
        return qr_jinja_type_error(j, "batch size must be positive");
    const size_t size = (size_t)want;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GENERATOR, items.n ? (items.n - 1) / size + 1 : 0,
                             &all));
    const bool fill = qr_jinja_is_given(c->arg[1]) && c->arg[1].type != QR_JINJA_NONE;
    for (size_t k = 0; k < all->n; k++) {
        const size_t have = items.n - k * size < size ? items.n - k * size : size;
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, fill ? size : have, &row));
        for (size_t i = 0; i < row->n; i++)
            row->items[i] = i < have ? items.items[k * size + i] : c->arg[1];
        all->items[k] = qr_jinja_list_value(row);
    }
    *out = qr_jinja_list_value(all);
    return QUIRE_OK;
}

/* slice(slices, fill_with): lists whose lengths differ by at most one; fill_with pads the shorter
 * ones. */
static quire_status f_slice(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list items, *all, *row;
    int64_t want;
    size_t from = 0;
    QR_TRY(qr_jinja_expect_int(j, c->arg[0], &want));
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    if (want < 1)
        return qr_jinja_type_error(j, "number of slices must be positive");
    const size_t slices = (size_t)want, base = items.n / slices, longer = items.n % slices;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GENERATOR, slices, &all));
    const bool fill = qr_jinja_is_given(c->arg[1]) && c->arg[1].type != QR_JINJA_NONE;
    for (size_t k = 0; k < slices; k++) {
        const size_t have = base + (k < longer), padded = have + (fill && k >= longer);
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, padded, &row));
        for (size_t i = 0; i < padded; i++)
            row->items[i] = i < have ? items.items[from + i] : c->arg[1];
        from += have;
        all->items[k] = qr_jinja_list_value(row);
    }
    *out = qr_jinja_list_value(all);
    return QUIRE_OK;
}

/* Key for comparisons: strings in lower case, unless case_sensitive. */
static quire_status fold_case(struct qr_jinja *j, struct qr_jinja_value v, bool case_sensitive,
                              struct qr_jinja_value *out)
{
    *out = v;
    if (case_sensitive || v.type != QR_JINJA_STR)
        return QUIRE_OK;
    return qr_jinja_map_case(j, v.s, QR_JINJA_CASE_LOWER, out);
}

/* Key of an item: the value at the attribute path. */
static quire_status item_key(struct qr_jinja *j, struct qr_jinja_value item,
                             struct qr_jinja_value path, struct qr_jinja_value fallback,
                             bool case_sensitive, struct qr_jinja_value *out)
{
    QR_TRY(qr_jinja_getattr_path(j, item, path, fallback, out));
    return fold_case(j, *out, case_sensitive, out);
}

/* Keys of an item for a path of several attributes separated by commas. Always a list, because
 * lists with equal items compare without ordering the items, as in Jinja2. */
static quire_status item_keys(struct qr_jinja *j, struct qr_jinja_value item,
                              struct qr_jinja_value path, bool case_sensitive,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    const bool text = path.type == QR_JINJA_STR;
    size_t n = 1, from = 0;
    for (size_t i = 0; text && i < path.s->n; i++)
        n += path.s->p[i] == ',';
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, n, &l));
    *out = qr_jinja_list_value(l);
    for (size_t k = 0; k < n; k++) {
        struct qr_jinja_value part = path;
        if (text) {
            const char *comma = memchr(path.s->p + from, ',', path.s->n - from);
            const size_t end = comma ? (size_t)(comma - path.s->p) : path.s->n;
            QR_TRY(qr_jinja_substr(j, path.s, from, end - from, &part));
            from = end + 1;
        }
        QR_TRY(item_key(j, item, part, qr_jinja_missing(), case_sensitive, &l->items[k]));
    }
    return QUIRE_OK;
}

static quire_status f_sort(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_list *l, *keys;
    QR_TRY(copy_items(j, c->self, QR_JINJA_LIST_PLAIN, &l));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, l->n, &keys));
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(item_keys(j, l->items[i], c->arg[2], qr_jinja_truth(c->arg[1]), &keys->items[i]));
    QR_TRY(qr_jinja_sort(j, l->items, keys->items, l->n, qr_jinja_truth(c->arg[0])));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status f_dictsort(struct qr_jinja *j, const struct qr_jinja_call *c,
                               struct qr_jinja_value *out)
{
    struct qr_jinja_list *l, *keys;
    bool by_value = false;
    if (qr_jinja_is_given(c->arg[1])) {
        const struct qr_jinja_str *by;
        QR_TRY(qr_jinja_expect_str(j, c->arg[1], &by));
        by_value = qr_jinja_str_is(by, "value");
        if (!by_value && !qr_jinja_str_is(by, "key"))
            return qr_jinja_type_error(j, "You can only sort by either \"key\" or \"value\"");
    }
    if (qr_jinja_is_undefined(c->self))
        return qr_jinja_undefined_error(j, c->self);
    if (c->self.type != QR_JINJA_DICT)
        return qr_jinja_type_error(j, "'%s' object has no attribute 'items'",
                                   qr_jinja_type_name(c->self));
    const struct qr_jinja_dict *d = c->self.d;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, d->n, &l));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, d->n, &keys));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_jinja_entry *e = &d->entries[i];
        QR_TRY(qr_jinja_pair(j, e->key, e->value, &l->items[i]));
        QR_TRY(
            fold_case(j, by_value ? e->value : e->key, qr_jinja_truth(c->arg[0]), &keys->items[i]));
    }
    QR_TRY(qr_jinja_sort(j, l->items, keys->items, d->n, qr_jinja_truth(c->arg[2])));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* Keeps the first of equal items. */
static quire_status f_unique(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    struct qr_jinja_dict *seen;
    size_t kept = 0;
    QR_TRY(copy_items(j, c->self, QR_JINJA_LIST_GENERATOR, &l));
    QR_TRY(qr_jinja_dict_new(j, &seen));
    for (size_t i = 0; i < l->n; i++) {
        struct qr_jinja_value key, *slot;
        QR_TRY(item_key(j, l->items[i], c->arg[1], qr_jinja_missing(), qr_jinja_truth(c->arg[0]),
                        &key));
        QR_TRY(qr_jinja_dict_find(j, seen, key, &slot));
        if (slot)
            continue;
        QR_TRY(qr_jinja_dict_set(j, seen, key, qr_jinja_none()));
        l->items[kept++] = l->items[i];
    }
    l->n = kept;
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* Item with the smallest or largest key; the first one of equal items. */
static quire_status select_extreme(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   enum qr_jinja_order_op better, struct qr_jinja_value *out)
{
    struct qr_jinja_list items;
    struct qr_jinja_value best, key;
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    if (!items.n)
        return qr_jinja_undefined_hint(j, "No aggregated item, sequence was empty.", out);
    for (size_t i = 0; i < items.n; i++) {
        bool is_better = i == 0;
        QR_TRY(item_key(j, items.items[i], c->arg[1], qr_jinja_missing(), qr_jinja_truth(c->arg[0]),
                        &key));
        if (i)
            QR_TRY(qr_jinja_order(j, better, key, best, &is_better));
        if (is_better) {
            best = key;
            *out = items.items[i];
        }
    }
    return QUIRE_OK;
}

static quire_status f_min(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    return select_extreme(j, c, QR_JINJA_LT, out);
}

static quire_status f_max(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    return select_extreme(j, c, QR_JINJA_GT, out);
}

static quire_status f_sum(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    struct qr_jinja_list items;
    struct qr_jinja_value v;
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    *out = qr_jinja_is_given(c->arg[1]) ? c->arg[1] : qr_jinja_int(0);
    if (out->type == QR_JINJA_STR)
        return qr_jinja_type_error(j, "sum() can't sum strings [use ''.join(seq) instead]");
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_jinja_getattr_path(j, items.items[i], c->arg[0], qr_jinja_missing(), &v));
        QR_TRY(qr_jinja_binary_op(j, '+', *out, v, out));
    }
    return QUIRE_OK;
}

/* Makes a pair (key, items) per run of equal keys; l is sorted by keys. */
static quire_status make_groups(struct qr_jinja *j, const struct qr_jinja_list *l,
                                const struct qr_jinja_list *keys, struct qr_jinja_list *groups)
{
    groups->n = 0;
    for (size_t i = 0, end; i < l->n; i = end) {
        struct qr_jinja_list *members, *pair;
        bool same = true;
        for (end = i; end < l->n && same; end += same)
            QR_TRY(qr_jinja_equal(j, keys->items[i], keys->items[end], &same));
        if (end == i)
            end++; /* NaN is not equal to itself */
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, end - i, &members));
        memcpy(members->items, l->items + i, members->n * sizeof *members->items);
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_GROUP, 2, &pair));
        pair->items[0] = keys->items[i];
        pair->items[1] = qr_jinja_list_value(members);
        groups->items[groups->n++] = qr_jinja_list_value(pair);
    }
    return QUIRE_OK;
}

/* Sorts by key first, so that equal keys are adjacent. */
static quire_status f_groupby(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_list *l, *keys, *groups;
    const bool case_sensitive = qr_jinja_truth(c->arg[2]);
    QR_TRY(copy_items(j, c->self, QR_JINJA_LIST_PLAIN, &l));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, l->n, &keys));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, l->n, &groups));
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(item_key(j, l->items[i], c->arg[0], c->arg[1], case_sensitive, &keys->items[i]));
    QR_TRY(qr_jinja_sort(j, l->items, keys->items, l->n, false));
    QR_TRY(make_groups(j, l, keys, groups));
    for (size_t i = 0; i < groups->n && !case_sensitive; i++) {
        /* the grouper is the key of the first member in its original case */
        struct qr_jinja_list *pair = groups->items[i].l;
        QR_TRY(qr_jinja_getattr_path(j, pair->items[1].l->items[0], c->arg[0], c->arg[1],
                                     &pair->items[0]));
    }
    *out = qr_jinja_list_value(groups);
    return QUIRE_OK;
}

static const struct qr_jinja_builtin filters[] = {
    { "attr", f_attr, "name", 1 },
    { "batch", f_batch, "linecount fill_with", 1 },
    { "count", f_length, "", 0 },
    { "dictsort", f_dictsort, "case_sensitive by reverse", 0 },
    { "first", f_first, "", 0 },
    { "groupby", f_groupby, "attribute default case_sensitive", 1 },
    { "items", f_items, "", 0 },
    { "last", f_last, "", 0 },
    { "length", f_length, "", 0 },
    { "list", f_list, "", 0 },
    { "max", f_max, "case_sensitive attribute", 0 },
    { "min", f_min, "case_sensitive attribute", 0 },
    { "reverse", f_reverse, "", 0 },
    { "slice", f_slice, "slices fill_with", 1 },
    { "sort", f_sort, "reverse case_sensitive attribute", 0 },
    { "sum", f_sum, "attribute start", 0 },
    { "unique", f_unique, "case_sensitive attribute", 0 },
};

const struct qr_jinja_builtin *qr_jinja_filters_sequence(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
