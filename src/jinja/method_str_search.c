/* SPDX-License-Identifier: Apache-2.0 */
/* method_str_search.c - methods of str that search, split and join. */
#include "jinja/method_str_search.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/slice.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

/* Appends v to a list of capacity *cap. */
static quire_status append(struct qr_jinja *j, struct qr_jinja_list *l, size_t *cap,
                           struct qr_jinja_value v)
{
    QR_TRY(qr_jinja_charge(j, 1));
    if (l->n == *cap) {
        struct qr_jinja_value *grown;
        *cap = *cap ? *cap * 2 : 8;
        QR_JINJA_NEW(j, grown, *cap);
        if (l->n)
            memcpy(grown, l->items, l->n * sizeof *grown);
        l->items = grown;
    }
    l->items[l->n++] = v;
    return QUIRE_OK;
}

static void reverse(struct qr_jinja_list *l)
{
    for (size_t i = 0; i < l->n / 2; i++) {
        const struct qr_jinja_value v = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = v;
    }
}

/* Splits at runs of white space, and strips it at the ends. */
static quire_status split_space(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t max,
                                struct qr_jinja_list *l)
{
    size_t cap = 0, off = 0;
    struct qr_jinja_value part;
    for (;;) {
        while (off < s->n && qr_jinja_is_space(qr_jinja_utf8_decode(s->p + off)))
            off += qr_jinja_utf8_len(s->p[off]);
        if (off == s->n)
            return QUIRE_OK;
        size_t end = off;
        if (max-- == 0) { /* the rest, including trailing white space */
            QR_TRY(qr_jinja_substr(j, s, off, s->n - off, &part));
            return append(j, l, &cap, part);
        }
        while (end < s->n && !qr_jinja_is_space(qr_jinja_utf8_decode(s->p + end)))
            end += qr_jinja_utf8_len(s->p[end]);
        QR_TRY(qr_jinja_substr(j, s, off, end - off, &part));
        QR_TRY(append(j, l, &cap, part));
        off = end;
    }
}

static size_t char_before(const struct qr_jinja_str *s, size_t off)
{
    do
        off--;
    while (qr_jinja_utf8_is_cont(s->p[off]));
    return off;
}

static quire_status rsplit_space(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t max,
                                 struct qr_jinja_list *l)
{
    size_t cap = 0, end = s->n;
    struct qr_jinja_value part;
    for (;;) {
        while (end > 0 && qr_jinja_is_space(qr_jinja_utf8_decode(s->p + char_before(s, end))))
            end = char_before(s, end);
        if (end == 0)
            break;
        size_t from = end;
        if (max-- == 0) {
            QR_TRY(qr_jinja_substr(j, s, 0, end, &part));
            QR_TRY(append(j, l, &cap, part));
            break;
        }
        while (from > 0 && !qr_jinja_is_space(qr_jinja_utf8_decode(s->p + char_before(s, from))))
            from = char_before(s, from);
        QR_TRY(qr_jinja_substr(j, s, from, end - from, &part));
        QR_TRY(append(j, l, &cap, part));
        end = from;
    }
    reverse(l);
    return QUIRE_OK;
}

/* from_right: collects the parts in reverse order, then reverses the list. */
static quire_status split_at(struct qr_jinja *j, const struct qr_jinja_str *s,
                             const struct qr_jinja_str *sep, int64_t max, bool from_right,
                             struct qr_jinja_list *l)
{
    size_t cap = 0, from = 0, end = s->n;
    struct qr_jinja_value part;
    while (max-- != 0) {
        size_t at;
        if (from_right)
            QR_TRY(qr_jinja_str_rfind(j, s, end, sep, &at));
        else
            at = qr_jinja_str_find(s, from, sep);
        if (at == SIZE_MAX)
            break;
        const size_t cut = from_right ? at + sep->n : from;
        QR_TRY(qr_jinja_substr(j, s, cut, (from_right ? end : at) - cut, &part));
        QR_TRY(append(j, l, &cap, part));
        if (from_right)
            end = at;
        else
            from = at + sep->n;
    }
    QR_TRY(qr_jinja_substr(j, s, from, end - from, &part));
    QR_TRY(append(j, l, &cap, part));
    if (from_right)
        reverse(l);
    return QUIRE_OK;
}

static quire_status split_impl(struct qr_jinja *j, const struct qr_jinja_call *c, bool from_right,
                               struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    const struct qr_jinja_str *s = c->self.s, *sep;
    int64_t max = -1;
    if (qr_jinja_is_given(c->arg[1]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[1], &max));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, 0, &l));
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    *out = qr_jinja_list_value(l);
    if (!qr_jinja_is_given(c->arg[0]) || c->arg[0].type == QR_JINJA_NONE)
        return from_right ? rsplit_space(j, s, max, l) : split_space(j, s, max, l);
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &sep));
    if (!sep->n)
        return qr_jinja_type_error(j, "empty separator");
    return split_at(j, s, sep, max, from_right, l);
}

static quire_status m_split(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return split_impl(j, c, false, out);
}

static quire_status m_rsplit(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return split_impl(j, c, true, out);
}

static quire_status m_splitlines(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_str_splitlines(j, c->self.s, qr_jinja_truth(c->arg[0]), &l));
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

/* (before, separator, after) of the first separator, or of the last one if from_right. */
static quire_status partition_impl(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   bool from_right, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s, *sep;
    struct qr_jinja_list *l;
    size_t at;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &sep));
    if (!sep->n)
        return qr_jinja_type_error(j, "empty separator");
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    at = qr_jinja_str_find(s, 0, sep);
    if (from_right)
        QR_TRY(qr_jinja_str_rfind(j, s, s->n, sep, &at));
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, 3, &l));
    *out = qr_jinja_list_value(l);
    if (at == SIZE_MAX) {
        for (int i = 0; i < 3; i++)
            QR_TRY(qr_jinja_str_literal(j, "", &l->items[i]));
        l->items[from_right ? 2 : 0] = c->self;
        return QUIRE_OK;
    }
    const size_t end = at + sep->n;
    QR_TRY(qr_jinja_substr(j, s, 0, at, &l->items[0]));
    QR_TRY(qr_jinja_substr(j, s, at, sep->n, &l->items[1]));
    return qr_jinja_substr(j, s, end, s->n - end, &l->items[2]);
}

static quire_status m_partition(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    return partition_impl(j, c, false, out);
}

static quire_status m_rpartition(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return partition_impl(j, c, true, out);
}

static quire_status m_join(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_list items;
    struct qr_jinja_sb sb;
    QR_TRY(qr_jinja_iterate(j, c->arg[0], &items));
    qr_jinja_sb_init(&sb, j);
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_jinja_charge(j, 1));
        if (items.items[i].type != QR_JINJA_STR)
            return qr_jinja_type_error(j, "sequence item %zu: expected str instance, %s found", i,
                                       qr_jinja_type_name(items.items[i]));
        if (i)
            QR_TRY(qr_jinja_sb_append_str(&sb, c->self.s));
        QR_TRY(qr_jinja_sb_append_str(&sb, items.items[i].s));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* --- searching --- */
/* self[start:end]; start and end are optional. NULL if start is beyond the end of self, where not
 * even the empty string is found. */
static quire_status search_range(struct qr_jinja *j, struct qr_jinja_value self,
                                 struct qr_jinja_value start, struct qr_jinja_value end,
                                 const struct qr_jinja_str **out)
{
    const struct qr_jinja_value part[3] = { start, end, qr_jinja_missing() };
    struct qr_jinja_value v = self;
    if (qr_jinja_is_given(start) || qr_jinja_is_given(end))
        QR_TRY(qr_jinja_slice(j, self, part, &v));
    *out = v.s;
    if (qr_jinja_is_given(start) && qr_jinja_is_integral(start)) {
        int64_t n;
        QR_TRY(qr_jinja_length(j, self, &n));
        if (qr_jinja_integral(start) > n)
            *out = NULL;
    }
    return QUIRE_OK;
}

/* must: absence is an error (index) instead of -1 (find). */
static quire_status find_impl(struct qr_jinja *j, const struct qr_jinja_call *c, bool from_right,
                              bool must, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s, *needle;
    size_t at = SIZE_MAX;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &needle));
    QR_TRY(search_range(j, c->self, c->arg[1], c->arg[2], &s));
    if (s) {
        QR_TRY(qr_jinja_charge_bytes(j, s->n));
        at = qr_jinja_str_find(s, 0, needle);
        if (from_right)
            QR_TRY(qr_jinja_str_rfind(j, s, s->n, needle, &at));
    }
    if (at == SIZE_MAX) {
        *out = qr_jinja_int(-1);
        return must ? qr_jinja_type_error(j, "substring not found") : QUIRE_OK;
    }
    /* s shares the memory of self */
    *out = qr_jinja_int(
        (int64_t)qr_jinja_utf8_count(c->self.s->p, (size_t)(s->p - c->self.s->p) + at));
    return QUIRE_OK;
}

static quire_status m_find(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    return find_impl(j, c, false, false, out);
}

static quire_status m_rfind(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return find_impl(j, c, true, false, out);
}

static quire_status m_index(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return find_impl(j, c, false, true, out);
}

static quire_status m_rindex(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return find_impl(j, c, true, true, out);
}

/* Counts non-overlapping occurrences. */
static quire_status m_count(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s, *needle;
    int64_t n = 0;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &needle));
    QR_TRY(search_range(j, c->self, c->arg[1], c->arg[2], &s));
    *out = qr_jinja_int(0);
    if (!s)
        return QUIRE_OK;
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    if (!needle->n)
        n = (int64_t)qr_jinja_utf8_count(s->p, s->n) + 1;
    else
        for (size_t at = 0; (at = qr_jinja_str_find(s, at, needle)) != SIZE_MAX; at += needle->n)
            n++;
    *out = qr_jinja_int(n);
    return QUIRE_OK;
}

/* startswith and endswith accept a string or a tuple of strings. */
static quire_status affix_impl(struct qr_jinja *j, const struct qr_jinja_call *c, bool at_end,
                               const char *name, struct qr_jinja_value *out)
{
    struct qr_jinja_list one = { .n = 1, .items = (struct qr_jinja_value *)&c->arg[0] };
    const struct qr_jinja_list *list = qr_jinja_is_tuple(c->arg[0]) ? c->arg[0].l : &one;
    const struct qr_jinja_str *s;
    bool found = false;
    QR_TRY(search_range(j, c->self, c->arg[1], c->arg[2], &s));
    for (size_t i = 0; i < list->n && !found; i++) {
        const struct qr_jinja_value v = list->items[i];
        if (qr_jinja_is_undefined(v) || v.type != QR_JINJA_STR)
            return qr_jinja_type_error(j, "%s first arg must be str or a tuple of str, not %s",
                                       name, qr_jinja_type_name(v));
        QR_TRY(qr_jinja_charge_bytes(j, v.s->n));
        found = s && v.s->n <= s->n &&
                memcmp(at_end ? s->p + s->n - v.s->n : s->p, v.s->p, v.s->n) == 0;
    }
    *out = qr_jinja_bool(found);
    return QUIRE_OK;
}

static quire_status m_startswith(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return affix_impl(j, c, false, "startswith", out);
}

static quire_status m_endswith(struct qr_jinja *j, const struct qr_jinja_call *c,
                               struct qr_jinja_value *out)
{
    return affix_impl(j, c, true, "endswith", out);
}

static quire_status m_removeprefix(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s, *prefix;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &prefix));
    const bool has = prefix->n <= s->n && memcmp(s->p, prefix->p, prefix->n) == 0;
    const size_t off = has ? prefix->n : 0;
    return qr_jinja_substr(j, s, off, s->n - off, out);
}

static quire_status m_removesuffix(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s, *suffix;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &suffix));
    const bool has =
        suffix->n <= s->n && memcmp(s->p + s->n - suffix->n, suffix->p, suffix->n) == 0;
    return qr_jinja_substr(j, s, 0, s->n - (has ? suffix->n : 0), out);
}

static const struct qr_jinja_builtin methods[] = {
    { "count", m_count, "sub start end", 1 },
    { "endswith", m_endswith, "suffix start end", 1 },
    { "find", m_find, "sub start end", 1 },
    { "index", m_index, "sub start end", 1 },
    { "join", m_join, "iterable", 1 },
    { "partition", m_partition, "sep", 1 },
    { "removeprefix", m_removeprefix, "prefix", 1 },
    { "removesuffix", m_removesuffix, "suffix", 1 },
    { "rfind", m_rfind, "sub start end", 1 },
    { "rindex", m_rindex, "sub start end", 1 },
    { "rpartition", m_rpartition, "sep", 1 },
    { "rsplit", m_rsplit, "sep maxsplit", 0 },
    { "split", m_split, "sep maxsplit", 0 },
    { "splitlines", m_splitlines, "keepends", 0 },
    { "startswith", m_startswith, "prefix start end", 1 },
};

const struct qr_jinja_builtin *qr_jinja_methods_str_search(size_t *n)
{
    *n = sizeof methods / sizeof *methods;
    return methods;
}
