/* SPDX-License-Identifier: Apache-2.0 */
/* method.c - methods of dict, list, loop, cycler and float; looks up methods of all types. */
#include "jinja/method.h"
#include "base/error.h"
#include "jinja/builtin.h"
#include "jinja/compare.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/method_str.h"
#include "jinja/method_str_search.h"
#include "jinja/print.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/value.h"

/* --- dict --- */
/* A copy is equivalent to a view, because templates cannot modify a dict. */
static quire_status dict_view(struct qr_jinja *j, const struct qr_jinja_dict *d,
                              enum qr_jinja_list_kind kind, struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_list_new(j, kind, d->n, &l));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_jinja_entry *e = &d->entries[i];
        if (kind == QR_JINJA_LIST_ITEMS)
            QR_TRY(qr_jinja_pair(j, e->key, e->value, &l->items[i]));
        else
            l->items[i] = kind == QR_JINJA_LIST_KEYS ? e->key : e->value;
    }
    *out = qr_jinja_list_value(l);
    return QUIRE_OK;
}

static quire_status m_items(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return dict_view(j, c->self.d, QR_JINJA_LIST_ITEMS, out);
}

static quire_status m_keys(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    return dict_view(j, c->self.d, QR_JINJA_LIST_KEYS, out);
}

static quire_status m_values(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return dict_view(j, c->self.d, QR_JINJA_LIST_VALUES, out);
}

/* A missing key yields none, not undefined. */
static quire_status m_get(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    struct qr_jinja_value *slot;
    QR_TRY(qr_jinja_dict_find(j, c->self.d, c->arg[0], &slot));
    *out = slot ? *slot : qr_jinja_is_given(c->arg[1]) ? c->arg[1] : qr_jinja_none();
    return QUIRE_OK;
}

static quire_status m_dict_copy(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(qr_jinja_dict_new(j, &d));
    for (size_t i = 0; i < c->self.d->n; i++)
        QR_TRY(qr_jinja_dict_set(j, d, c->self.d->entries[i].key, c->self.d->entries[i].value));
    *out = qr_jinja_dict_value(d);
    return QUIRE_OK;
}

/* --- list and tuple --- */
static quire_status m_list_copy(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    (void)j;
    *out = c->self; /* lists are immutable */
    return QUIRE_OK;
}

static quire_status m_list_index(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    const struct qr_jinja_list *l = c->self.l;
    for (size_t i = 0; i < l->n; i++) {
        bool same;
        QR_TRY(qr_jinja_equal(j, l->items[i], c->arg[0], &same));
        if (same) {
            *out = qr_jinja_int((int64_t)i);
            return QUIRE_OK;
        }
    }
    struct qr_jinja_sb sb;
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_print_repr(&sb, c->arg[0]));
    return qr_jinja_type_error(j, "%.*s is not in %s", sb.n > 100 ? 100 : (int)sb.n, sb.p,
                               qr_jinja_type_name(c->self));
}

static quire_status m_list_count(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->self.l->n; i++) {
        bool same;
        QR_TRY(qr_jinja_equal(j, c->self.l->items[i], c->arg[0], &same));
        n += same;
    }
    *out = qr_jinja_int(n);
    return QUIRE_OK;
}

/* --- loop, cycler, numbers --- */
static quire_status m_loop_cycle(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    if (!c->args->n_pos || c->args->n_kw)
        return qr_jinja_type_error(j, "no items for cycling given");
    *out = c->args->pos[c->self.loop->index0 % c->args->n_pos];
    return QUIRE_OK;
}

/* Compares the arguments with those of the previous call. */
static quire_status m_loop_changed(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   struct qr_jinja_value *out)
{
    struct qr_jinja_list *now;
    struct qr_jinja_value *last = &c->self.loop->changed;
    bool same = false;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, c->args->n_pos, &now));
    for (size_t i = 0; i < now->n; i++)
        now->items[i] = c->args->pos[i];
    if (last->type == QR_JINJA_LIST)
        QR_TRY(qr_jinja_equal(j, *last, qr_jinja_list_value(now), &same));
    *last = qr_jinja_list_value(now);
    *out = qr_jinja_bool(!same);
    return QUIRE_OK;
}

static quire_status m_cycler_next(struct qr_jinja *j, const struct qr_jinja_call *c,
                                  struct qr_jinja_value *out)
{
    struct qr_jinja_cycler *cycler = c->self.cycler;
    (void)j;
    *out = cycler->items[cycler->pos];
    cycler->pos = (cycler->pos + 1) % cycler->n;
    return QUIRE_OK;
}

static quire_status m_cycler_reset(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   struct qr_jinja_value *out)
{
    (void)j;
    c->self.cycler->pos = 0;
    *out = qr_jinja_none();
    return QUIRE_OK;
}

static quire_status m_is_integer(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    (void)j;
    *out = qr_jinja_bool(c->self.f - c->self.f == 0 && c->self.f == __builtin_trunc(c->self.f));
    return QUIRE_OK;
}

static const struct qr_jinja_builtin dict_methods[] = {
    { "items", m_items, "", 0 },    { "keys", m_keys, "", 0 },
    { "values", m_values, "", 0 },  { "get", m_get, "key default", 1 },
    { "copy", m_dict_copy, "", 0 },
};
static const struct qr_jinja_builtin list_methods[] = {
    { "index", m_list_index, "value", 1 },
    { "count", m_list_count, "value", 1 },
    { "copy", m_list_copy, "", 0 }, /* last entry, not available for tuples */
};
static const struct qr_jinja_builtin loop_methods[] = {
    { "cycle", m_loop_cycle, "*", 0 },
    { "changed", m_loop_changed, "*", 0 },
};
static const struct qr_jinja_builtin cycler_methods[] = {
    { "next", m_cycler_next, "", 0 },
    { "reset", m_cycler_reset, "", 0 },
};
static const struct qr_jinja_builtin float_methods[] = {
    { "is_integer", m_is_integer, "", 0 },
};

/* Methods that modify the object, to which the sandbox forbids access. */
static bool is_mutator(struct qr_jinja_value v, const struct qr_jinja_str *name)
{
    static const char *const list_names[] = { "append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort" };
    static const char *const dict_names[] = { "clear", "pop", "popitem", "setdefault", "update" };
    const bool dict = v.type == QR_JINJA_DICT;
    const char *const *names = dict ? dict_names : list_names;
    const size_t n =
        dict ? sizeof dict_names / sizeof *dict_names : sizeof list_names / sizeof *list_names;
    if (!dict && !qr_jinja_is_plain_list(v))
        return false;
    for (size_t i = 0; i < n; i++)
        if (qr_jinja_str_is(name, names[i]))
            return true;
    return false;
}

#define FIND(table) qr_jinja_builtin_find(table, sizeof table / sizeof *table, name)

const struct qr_jinja_builtin *qr_jinja_method_find(struct qr_jinja_value v,
                                                    const struct qr_jinja_str *name, bool *unsafe)
{
    const struct qr_jinja_builtin *table, *found = NULL;
    size_t n;
    switch (v.type) {
    case QR_JINJA_STR:
        table = qr_jinja_methods_str(&n);
        found = qr_jinja_builtin_find(table, n, name);
        if (found)
            return found;
        table = qr_jinja_methods_str_search(&n);
        return qr_jinja_builtin_find(table, n, name);
    case QR_JINJA_DICT:
        found = FIND(dict_methods);
        break;
    case QR_JINJA_LIST:
        if (qr_jinja_is_plain_list(v))
            found = FIND(list_methods);
        else if (qr_jinja_is_tuple(v))
            found = qr_jinja_builtin_find(list_methods,
                                          sizeof list_methods / sizeof *list_methods - 1, name);
        break;
    case QR_JINJA_LOOP:
        return FIND(loop_methods);
    case QR_JINJA_CYCLER:
        return FIND(cycler_methods);
    case QR_JINJA_FLOAT:
        return FIND(float_methods);
    default:
        return NULL;
    }
    *unsafe = !found && is_mutator(v, name);
    return found;
}
