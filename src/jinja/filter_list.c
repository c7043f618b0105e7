/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_filter_list.c - filters on sequences and mappings. */
#include "jinja/call.h"

static quire_status f_length(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    int64_t n;
    QR_TRY(qr_j_length(j, c->self, &n));
    *out = qr_j_int(n);
    return QUIRE_OK;
}

/* Takes a single item from a generator and leaves the rest. */
static quire_status f_first(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list items;
    struct qr_j_list *gen = qr_j_is_generator(c->self) ? c->self.l : NULL;
    const size_t taken = gen ? gen->taken : 0;
    QR_TRY(qr_j_items(j, c->self, &items));
    if (gen) /* takes only one */
        gen->taken = taken + (items.n > 0);
    if (!items.n)
        return qr_j_undefined_hint(j, "No first item, sequence was empty.", out);
    *out = items.items[0];
    return QUIRE_OK;
}

static quire_status f_last(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list items;
    if (qr_j_is_generator(c->self))
        return qr_j_type_error(j, "'generator' object is not reversible");
    QR_TRY(qr_j_items(j, c->self, &items));
    if (!items.n)
        return qr_j_undefined_hint(j, "No last item, sequence was empty.", out);
    *out = items.items[items.n - 1];
    return QUIRE_OK;
}

/* A new list of v's items. */
static quire_status copy_items(struct qr_j *j, struct qr_j_value v, enum qr_j_flavor flavor,
                               struct qr_j_list **out)
{
    struct qr_j_list items;
    QR_TRY(qr_j_items(j, v, &items));
    QR_TRY(qr_j_list_new(j, flavor, items.n, out));
    if (items.n)
        memcpy((*out)->items, items.items, items.n * sizeof *items.items);
    return QUIRE_OK;
}

static quire_status f_list(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l;
    QR_TRY(copy_items(j, c->self, QR_J_PLAIN, &l));
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

/* Text reversed is text, anything else an iterator. */
static quire_status f_reverse(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l;
    struct qr_j_sb sb;
    QR_TRY(copy_items(j, c->self, QR_J_GENERATOR, &l));
    for (size_t i = 0; i < l->n / 2; i++) {
        const struct qr_j_value v = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = v;
    }
    *out = qr_j_list_value(l);
    if (c->self.type != QR_J_STR)
        return QUIRE_OK;
    qr_j_sb_init(&sb, j);
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(qr_j_sb_str(&sb, l->items[i].s));
    return qr_j_sb_done(&sb, out);
}

/* Like .items(), but undefined values are empty. */
static quire_status f_items(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l;
    const size_t n = c->self.type == QR_J_DICT ? c->self.d->n : 0;
    if (c->self.type != QR_J_DICT && !qr_j_is_undefined(c->self))
        return qr_j_type_error(j, "Can only get item pairs from a mapping.");
    QR_TRY(qr_j_list_new(j, QR_J_GENERATOR, n, &l));
    for (size_t i = 0; i < n; i++)
        QR_TRY(qr_j_pair(j, c->self.d->entries[i].key, c->self.d->entries[i].value, &l->items[i]));
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

static quire_status f_attr(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *name;
    bool found = false;
    QR_TRY(qr_j_want_str(j, c->a[0], &name));
    if (qr_j_is_undefined(c->self))
        return qr_j_undefined_error(j, c->self);
    QR_TRY(qr_j_own_attr(j, c->self, c->a[0], &found, out));
    return found ? QUIRE_OK : qr_j_undefined_attr(j, c->self, c->a[0], out);
}

/* Lists of `size` items, the last one filled up if `fill` is given. */
static quire_status f_batch(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list items, *all, *row;
    int64_t want;
    QR_TRY(qr_j_want_int(j, c->a[0], &want));
    QR_TRY(qr_j_items(j, c->self, &items));
    if (want < 1)
        return qr_j_type_error(j, "batch size must be positive");
    const size_t size = (size_t)want;
    QR_TRY(qr_j_list_new(j, QR_J_GENERATOR, items.n ? (items.n - 1) / size + 1 : 0, &all));
    const bool fill = qr_j_given(c->a[1]) && c->a[1].type != QR_J_NONE;
    for (size_t k = 0; k < all->n; k++) {
        const size_t have = items.n - k * size < size ? items.n - k * size : size;
        QR_TRY(qr_j_list_new(j, QR_J_PLAIN, fill ? size : have, &row));
        for (size_t i = 0; i < row->n; i++)
            row->items[i] = i < have ? items.items[k * size + i] : c->a[1];
        all->items[k] = qr_j_list_value(row);
    }
    *out = qr_j_list_value(all);
    return QUIRE_OK;
}

/* `slices` lists of nearly equal length. */
static quire_status f_slice(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list items, *all, *row;
    int64_t want;
    size_t from = 0;
    QR_TRY(qr_j_want_int(j, c->a[0], &want));
    QR_TRY(qr_j_items(j, c->self, &items));
    if (want < 1)
        return qr_j_type_error(j, "number of slices must be positive");
    const size_t slices = (size_t)want, base = items.n / slices, longer = items.n % slices;
    QR_TRY(qr_j_list_new(j, QR_J_GENERATOR, slices, &all));
    const bool fill = qr_j_given(c->a[1]) && c->a[1].type != QR_J_NONE;
    for (size_t k = 0; k < slices; k++) {
        const size_t have = base + (k < longer), padded = have + (fill && k >= longer);
        QR_TRY(qr_j_list_new(j, QR_J_PLAIN, padded, &row));
        for (size_t i = 0; i < padded; i++)
            row->items[i] = i < have ? items.items[from + i] : c->a[1];
        from += have;
        all->items[k] = qr_j_list_value(row);
    }
    *out = qr_j_list_value(all);
    return QUIRE_OK;
}

/* Text compares without its case unless asked otherwise. */
static quire_status fold(struct qr_j *j, struct qr_j_value v, bool case_sensitive,
                         struct qr_j_value *out)
{
    *out = v;
    if (case_sensitive || v.type != QR_J_STR)
        return QUIRE_OK;
    return qr_j_change_case(j, v.s, QR_J_LOWER, out);
}

/* The sort key of an item: the value at the path. */
static quire_status key_of(struct qr_j *j, struct qr_j_value item, struct qr_j_value path,
                           struct qr_j_value fallback, bool case_sensitive, struct qr_j_value *out)
{
    QR_TRY(qr_j_attr_path(j, item, path, fallback, out));
    return fold(j, *out, case_sensitive, out);
}

/* The list of keys for a path that may name several attributes with commas. Always a list: that
 * way equal keys need no order, as in Jinja2. */
static quire_status keys_of(struct qr_j *j, struct qr_j_value item, struct qr_j_value path,
                            bool case_sensitive, struct qr_j_value *out)
{
    struct qr_j_list *l;
    const bool text = path.type == QR_J_STR;
    size_t n = 1, from = 0;
    for (size_t i = 0; text && i < path.s->n; i++)
        n += path.s->p[i] == ',';
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, n, &l));
    *out = qr_j_list_value(l);
    for (size_t k = 0; k < n; k++) {
        struct qr_j_value part = path;
        if (text) {
            const char *comma = memchr(path.s->p + from, ',', path.s->n - from);
            const size_t end = comma ? (size_t)(comma - path.s->p) : path.s->n;
            QR_TRY(qr_j_cut(j, path.s, from, end - from, &part));
            from = end + 1;
        }
        QR_TRY(key_of(j, item, part, qr_j_missing(), case_sensitive, &l->items[k]));
    }
    return QUIRE_OK;
}

static quire_status f_sort(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l, *keys;
    QR_TRY(copy_items(j, c->self, QR_J_PLAIN, &l));
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, l->n, &keys));
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(keys_of(j, l->items[i], c->a[2], qr_j_truth(c->a[1]), &keys->items[i]));
    QR_TRY(qr_j_sort(j, l->items, keys->items, l->n, qr_j_truth(c->a[0])));
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

static quire_status f_dictsort(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l, *keys;
    bool by_value = false;
    if (qr_j_given(c->a[1])) {
        const struct qr_j_str *by;
        QR_TRY(qr_j_want_str(j, c->a[1], &by));
        by_value = qr_j_str_is(by, "value");
        if (!by_value && !qr_j_str_is(by, "key"))
            return qr_j_type_error(j, "You can only sort by either \"key\" or \"value\"");
    }
    if (qr_j_is_undefined(c->self))
        return qr_j_undefined_error(j, c->self);
    if (c->self.type != QR_J_DICT)
        return qr_j_type_error(j, "'%s' object has no attribute 'items'", qr_j_type_name(c->self));
    const struct qr_j_dict *d = c->self.d;
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, d->n, &l));
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, d->n, &keys));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_j_entry *e = &d->entries[i];
        QR_TRY(qr_j_pair(j, e->key, e->value, &l->items[i]));
        QR_TRY(fold(j, by_value ? e->value : e->key, qr_j_truth(c->a[0]), &keys->items[i]));
    }
    QR_TRY(qr_j_sort(j, l->items, keys->items, d->n, qr_j_truth(c->a[2])));
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

/* The first of equal items stays. */
static quire_status f_unique(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l;
    struct qr_j_dict *seen;
    size_t kept = 0;
    QR_TRY(copy_items(j, c->self, QR_J_GENERATOR, &l));
    QR_TRY(qr_j_dict_new(j, &seen));
    for (size_t i = 0; i < l->n; i++) {
        struct qr_j_value key, *slot;
        QR_TRY(key_of(j, l->items[i], c->a[1], qr_j_missing(), qr_j_truth(c->a[0]), &key));
        QR_TRY(qr_j_dict_find(j, seen, key, &slot));
        if (slot)
            continue;
        QR_TRY(qr_j_dict_set(j, seen, key, qr_j_none()));
        l->items[kept++] = l->items[i];
    }
    l->n = kept;
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

/* The first of equal items wins. */
static quire_status extreme(struct qr_j *j, const struct qr_j_call *c, enum qr_j_order_op better,
                            struct qr_j_value *out)
{
    struct qr_j_list items;
    struct qr_j_value best, key;
    QR_TRY(qr_j_items(j, c->self, &items));
    if (!items.n)
        return qr_j_undefined_hint(j, "No aggregated item, sequence was empty.", out);
    for (size_t i = 0; i < items.n; i++) {
        bool is_better = i == 0;
        QR_TRY(key_of(j, items.items[i], c->a[1], qr_j_missing(), qr_j_truth(c->a[0]), &key));
        if (i)
            QR_TRY(qr_j_order(j, better, key, best, &is_better));
        if (is_better) {
            best = key;
            *out = items.items[i];
        }
    }
    return QUIRE_OK;
}

static quire_status f_min(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return extreme(j, c, QR_J_LT, out);
}

static quire_status f_max(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return extreme(j, c, QR_J_GT, out);
}

static quire_status f_sum(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list items;
    struct qr_j_value v;
    QR_TRY(qr_j_items(j, c->self, &items));
    *out = qr_j_given(c->a[1]) ? c->a[1] : qr_j_int(0);
    if (out->type == QR_J_STR)
        return qr_j_type_error(j, "sum() can't sum strings [use ''.join(seq) instead]");
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_j_attr_path(j, items.items[i], c->a[0], qr_j_missing(), &v));
        QR_TRY(qr_j_binary(j, '+', *out, v, out));
    }
    return QUIRE_OK;
}

/* One pair (key, items) per run of equal keys; items[n] are sorted by keys[n]. */
static quire_status make_groups(struct qr_j *j, const struct qr_j_list *l,
                                const struct qr_j_list *keys, struct qr_j_list *groups)
{
    groups->n = 0;
    for (size_t i = 0, end; i < l->n; i = end) {
        struct qr_j_list *members, *pair;
        bool same = true;
        for (end = i; end < l->n && same; end += same)
            QR_TRY(qr_j_equal(j, keys->items[i], keys->items[end], &same));
        if (end == i)
            end++; /* NaN: not even equal to itself */
        QR_TRY(qr_j_list_new(j, QR_J_PLAIN, end - i, &members));
        memcpy(members->items, l->items + i, members->n * sizeof *members->items);
        QR_TRY(qr_j_list_new(j, QR_J_GROUP, 2, &pair));
        pair->items[0] = keys->items[i];
        pair->items[1] = qr_j_list_value(members);
        groups->items[groups->n++] = qr_j_list_value(pair);
    }
    return QUIRE_OK;
}

/* Sorted by key first, so that each key makes one group. */
static quire_status f_groupby(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_list *l, *keys, *groups;
    const bool case_sensitive = qr_j_truth(c->a[2]);
    QR_TRY(copy_items(j, c->self, QR_J_PLAIN, &l));
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, l->n, &keys));
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, l->n, &groups));
    for (size_t i = 0; i < l->n; i++)
        QR_TRY(key_of(j, l->items[i], c->a[0], c->a[1], case_sensitive, &keys->items[i]));
    QR_TRY(qr_j_sort(j, l->items, keys->items, l->n, false));
    QR_TRY(make_groups(j, l, keys, groups));
    for (size_t i = 0; i < groups->n && !case_sensitive; i++) {
        /* the key is shown in the case of the first member */
        struct qr_j_list *pair = groups->items[i].l;
        QR_TRY(qr_j_attr_path(j, pair->items[1].l->items[0], c->a[0], c->a[1], &pair->items[0]));
    }
    *out = qr_j_list_value(groups);
    return QUIRE_OK;
}

static const struct qr_j_builtin filters[] = {
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

const struct qr_j_builtin *qr_j_filters_list(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
