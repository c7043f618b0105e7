/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_method.c - methods of dict, list, loop and cycler, and the look-up of all methods. */
#include "jinja/call.h"

/* --- dict --- */
/* A snapshot serves as a view, since no dict can change. */
static quire_status dict_view(struct qr_j *j, const struct qr_j_dict *d, enum qr_j_flavor flavor,
                              struct qr_j_value *out)
{
    struct qr_j_list *l;
    QR_TRY(qr_j_list_new(j, flavor, d->n, &l));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_j_entry *e = &d->entries[i];
        if (flavor == QR_J_ITEMS)
            QR_TRY(qr_j_pair(j, e->key, e->value, &l->items[i]));
        else
            l->items[i] = flavor == QR_J_KEYS ? e->key : e->value;
    }
    *out = qr_j_list_value(l);
    return QUIRE_OK;
}

static quire_status m_items(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return dict_view(j, c->self.d, QR_J_ITEMS, out);
}

static quire_status m_keys(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return dict_view(j, c->self.d, QR_J_KEYS, out);
}

static quire_status m_values(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return dict_view(j, c->self.d, QR_J_VALUES, out);
}

/* A missing key is none, not undefined. */
static quire_status m_get(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_value *slot;
    QR_TRY(qr_j_dict_find(j, c->self.d, c->a[0], &slot));
    *out = slot ? *slot : qr_j_given(c->a[1]) ? c->a[1] : qr_j_none();
    return QUIRE_OK;
}

static quire_status m_dict_copy(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_dict *d;
    QR_TRY(qr_j_dict_new(j, &d));
    for (size_t i = 0; i < c->self.d->n; i++)
        QR_TRY(qr_j_dict_set(j, d, c->self.d->entries[i].key, c->self.d->entries[i].value));
    *out = qr_j_dict_value(d);
    return QUIRE_OK;
}

/* --- list and tuple --- */
static quire_status m_list_copy(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)j;
    *out = c->self; /* nothing can change it */
    return QUIRE_OK;
}

static quire_status m_list_index(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_list *l = c->self.l;
    for (size_t i = 0; i < l->n; i++) {
        bool same;
        QR_TRY(qr_j_equal(j, l->items[i], c->a[0], &same));
        if (same) {
            *out = qr_j_int((int64_t)i);
            return QUIRE_OK;
        }
    }
    struct qr_j_sb sb;
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_repr(&sb, c->a[0]));
    return qr_j_type_error(j, "%.*s is not in %s", sb.n > 100 ? 100 : (int)sb.n, sb.p,
                           qr_j_type_name(c->self));
}

static quire_status m_list_count(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->self.l->n; i++) {
        bool same;
        QR_TRY(qr_j_equal(j, c->self.l->items[i], c->a[0], &same));
        n += same;
    }
    *out = qr_j_int(n);
    return QUIRE_OK;
}

/* --- loop, cycler, numbers --- */
static quire_status m_loop_cycle(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    if (!c->args->n_pos || c->args->n_kw)
        return qr_j_type_error(j, "no items for cycling given");
    *out = c->args->pos[c->self.loop->index0 % c->args->n_pos];
    return QUIRE_OK;
}

/* Compares with what the previous call was given. */
static quire_status m_loop_changed(struct qr_j *j, const struct qr_j_call *c,
                                   struct qr_j_value *out)
{
    struct qr_j_list *now;
    struct qr_j_value *last = &c->self.loop->changed;
    bool same = false;
    QR_TRY(qr_j_list_new(j, QR_J_TUPLE, c->args->n_pos, &now));
    for (size_t i = 0; i < now->n; i++)
        now->items[i] = c->args->pos[i];
    if (last->type == QR_J_LIST)
        QR_TRY(qr_j_equal(j, *last, qr_j_list_value(now), &same));
    *last = qr_j_list_value(now);
    *out = qr_j_bool(!same);
    return QUIRE_OK;
}

static quire_status m_cycler_next(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_cycler *cycler = c->self.cycler;
    (void)j;
    *out = cycler->items[cycler->pos];
    cycler->pos = (cycler->pos + 1) % cycler->n;
    return QUIRE_OK;
}

static quire_status m_cycler_reset(struct qr_j *j, const struct qr_j_call *c,
                                   struct qr_j_value *out)
{
    (void)j;
    c->self.cycler->pos = 0;
    *out = qr_j_none();
    return QUIRE_OK;
}

static quire_status m_is_integer(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)j;
    *out = qr_j_bool(c->self.f - c->self.f == 0 && c->self.f == __builtin_trunc(c->self.f));
    return QUIRE_OK;
}

static const struct qr_j_builtin dict_methods[] = {
    { "items", m_items, "", 0 },    { "keys", m_keys, "", 0 },
    { "values", m_values, "", 0 },  { "get", m_get, "key default", 1 },
    { "copy", m_dict_copy, "", 0 },
};
static const struct qr_j_builtin list_methods[] = {
    { "index", m_list_index, "value", 1 },
    { "count", m_list_count, "value", 1 },
    { "copy", m_list_copy, "", 0 }, /* last: a tuple has none */
};
static const struct qr_j_builtin loop_methods[] = {
    { "cycle", m_loop_cycle, "*", 0 },
    { "changed", m_loop_changed, "*", 0 },
};
static const struct qr_j_builtin cycler_methods[] = {
    { "next", m_cycler_next, "", 0 },
    { "reset", m_cycler_reset, "", 0 },
};
static const struct qr_j_builtin float_methods[] = {
    { "is_integer", m_is_integer, "", 0 },
};

const struct qr_j_builtin *qr_j_table_find(const struct qr_j_builtin *table, size_t n,
                                           const struct qr_j_str *name)
{
    for (size_t i = 0; i < n; i++)
        if (qr_j_str_is(name, table[i].name))
            return &table[i];
    return NULL;
}

/* Methods that would change a value exist, but the sandbox keeps templates from using them. */
static bool is_mutator(struct qr_j_value v, const struct qr_j_str *name)
{
    static const char *const list_names[] = { "append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort" };
    static const char *const dict_names[] = { "clear", "pop", "popitem", "setdefault", "update" };
    const bool dict = v.type == QR_J_DICT;
    const char *const *names = dict ? dict_names : list_names;
    const size_t n =
        dict ? sizeof dict_names / sizeof *dict_names : sizeof list_names / sizeof *list_names;
    if (!dict && !qr_j_is_plain_list(v))
        return false;
    for (size_t i = 0; i < n; i++)
        if (qr_j_str_is(name, names[i]))
            return true;
    return false;
}

#define FIND(table) qr_j_table_find(table, sizeof table / sizeof *table, name)

const struct qr_j_builtin *qr_j_method_find(struct qr_j_value v, const struct qr_j_str *name,
                                            bool *unsafe)
{
    const struct qr_j_builtin *table, *found = NULL;
    size_t n;
    switch (v.type) {
    case QR_J_STR:
        table = qr_j_methods_text(&n);
        found = qr_j_table_find(table, n, name);
        if (found)
            return found;
        table = qr_j_methods_cut(&n);
        return qr_j_table_find(table, n, name);
    case QR_J_DICT:
        found = FIND(dict_methods);
        break;
    case QR_J_LIST:
        if (qr_j_is_plain_list(v))
            found = FIND(list_methods);
        else if (qr_j_is_tuple(v))
            found =
                qr_j_table_find(list_methods, sizeof list_methods / sizeof *list_methods - 1, name);
        break;
    case QR_J_LOOP:
        return FIND(loop_methods);
    case QR_J_CYCLER:
        return FIND(cycler_methods);
    case QR_J_FLOAT:
        return FIND(float_methods);
    default:
        return NULL;
    }
    *unsafe = !found && is_mutator(v, name);
    return found;
}
