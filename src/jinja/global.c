/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_global.c - functions every template can call: range, dict, namespace, cycler, joiner, and
 * those that chat templates expect: raise_exception, strftime_now. */
#include "jinja/call.h"

enum { MAX_RANGE = 100000 }; /* as Jinja2's sandbox */

static quire_status g_range(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_range *r;
    QR_J_NEW(j, r, 1);
    r->step = 1;
    QR_TRY(qr_j_want_int(j, c->a[0], qr_j_given(c->a[1]) ? &r->start : &r->stop));
    if (qr_j_given(c->a[1]))
        QR_TRY(qr_j_want_int(j, c->a[1], &r->stop));
    if (qr_j_given(c->a[2]))
        QR_TRY(qr_j_want_int(j, c->a[2], &r->step));
    if (r->step == 0)
        return qr_j_type_error(j, "range() arg 3 must not be zero");
    /* distances are unsigned: they can exceed the positive half */
    const bool up = r->step > 0, empty = up ? r->start >= r->stop : r->start <= r->stop;
    const uint64_t distance =
        up ? (uint64_t)r->stop - (uint64_t)r->start : (uint64_t)r->start - (uint64_t)r->stop;
    const uint64_t stride = up ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    const uint64_t n = empty ? 0 : (distance - 1) / stride + 1;
    if (n > MAX_RANGE)
        return qr_j_fail(j, QUIRE_E_LIMIT,
                         "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).",
                         MAX_RANGE);
    r->n = (int64_t)n;
    *out = (struct qr_j_value){ .type = QR_J_RANGE, .r = r };
    return QUIRE_OK;
}

/* dict(mapping or pairs, name=value, ...) */
static quire_status make_dict(struct qr_j *j, const struct qr_j_args *args, struct qr_j_dict **out)
{
    struct qr_j_dict *d;
    QR_TRY(qr_j_dict_new(j, &d));
    if (args->n_pos > 1)
        return qr_j_type_error(j, "dict expected at most 1 argument, got %zu", args->n_pos);
    if (args->n_pos && args->pos[0].type == QR_J_DICT) {
        const struct qr_j_dict *src = args->pos[0].d;
        for (size_t i = 0; i < src->n; i++)
            QR_TRY(qr_j_dict_set(j, d, src->entries[i].key, src->entries[i].value));
    } else if (args->n_pos) {
        struct qr_j_list items, pair;
        QR_TRY(qr_j_items(j, args->pos[0], &items));
        for (size_t i = 0; i < items.n; i++) {
            QR_TRY(qr_j_items(j, items.items[i], &pair));
            if (pair.n != 2)
                return qr_j_type_error(
                    j, "dictionary update sequence element #%zu has length %zu; 2 is required", i,
                    pair.n);
            QR_TRY(qr_j_dict_set(j, d, pair.items[0], pair.items[1]));
        }
    }
    for (size_t i = 0; i < args->n_kw; i++)
        QR_TRY(qr_j_dict_set(j, d, args->kw_names[i], args->kw_values[i]));
    *out = d;
    return QUIRE_OK;
}

static quire_status g_dict(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_dict *d;
    QR_TRY(make_dict(j, c->args, &d));
    *out = qr_j_dict_value(d);
    return QUIRE_OK;
}

static quire_status g_namespace(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_dict *d;
    QR_TRY(make_dict(j, c->args, &d));
    *out = (struct qr_j_value){ .type = QR_J_NAMESPACE, .d = d };
    return QUIRE_OK;
}

/* The items are the arguments themselves, which live as long as the render. */
static quire_status g_cycler(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_cycler *cycler;
    if (!c->args->n_pos || c->args->n_kw)
        return qr_j_type_error(j, "at least one item has to be provided");
    QR_J_NEW(j, cycler, 1);
    cycler->n = c->args->n_pos;
    cycler->items = c->args->pos;
    *out = (struct qr_j_value){ .type = QR_J_CYCLER, .cycler = cycler };
    return QUIRE_OK;
}

static quire_status g_joiner(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_joiner *joiner;
    QR_J_NEW(j, joiner, 1);
    joiner->sep = c->a[0];
    if (!qr_j_given(c->a[0]))
        QR_TRY(qr_j_textz(j, ", ", &joiner->sep));
    *out = (struct qr_j_value){ .type = QR_J_JOINER, .joiner = joiner };
    return QUIRE_OK;
}

static quire_status g_lipsum(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)c;
    (void)out;
    return qr_j_fail(j, QUIRE_E_UNSUPPORTED, "chat template: lipsum is not supported");
}

/* How a template refuses a conversation. */
static quire_status g_raise_exception(struct qr_j *j, const struct qr_j_call *c,
                                      struct qr_j_value *out)
{
    const struct qr_j_str *s;
    (void)out;
    QR_TRY(qr_j_to_str(j, c->a[0], &s));
    return qr_j_fail(j, QUIRE_E_INVALID_ARG, "%.*s", s->n > 1000 ? 1000 : (int)s->n, s->p);
}

static quire_status g_strftime_now(struct qr_j *j, const struct qr_j_call *c,
                                   struct qr_j_value *out)
{
    const struct qr_j_str *fmt;
    struct tm now = { .tm_mday = 1 };
    QR_TRY(qr_j_want_str(j, c->a[0], &fmt));
    j->now(j->now_user, &now);
    return qr_j_strftime(j, fmt, &now, out);
}

const struct qr_j_builtin *qr_j_global_find(const struct qr_j_str *name)
{
    static const struct qr_j_builtin globals[] = {
        { "range", g_range, "start stop step", 1 },
        { "dict", g_dict, "*", 0 },
        { "namespace", g_namespace, "*", 0 },
        { "cycler", g_cycler, "*", 0 },
        { "joiner", g_joiner, "sep", 0 },
        { "lipsum", g_lipsum, "*", 0 },
        { "raise_exception", g_raise_exception, "message", 1 },
        { "strftime_now", g_strftime_now, "format", 1 },
    };
    return qr_j_table_find(globals, sizeof globals / sizeof *globals, name);
}
