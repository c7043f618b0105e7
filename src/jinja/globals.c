/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c - global functions: range, dict, namespace, cycler, joiner and lipsum of Jinja2;
 * raise_exception and strftime_now, which Hugging Face adds. */
#include "jinja/globals.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/builtin.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/print.h"
#include "jinja/strftime.h"
#include "jinja/value.h"

enum { MAX_RANGE = 100000 }; /* elements; as in the sandbox of Jinja2 */

static quire_status g_range(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_range *r;
    QR_JINJA_NEW(j, r, 1);
    r->step = 1;
    QR_TRY(qr_jinja_expect_int(j, c->arg[0], qr_jinja_is_given(c->arg[1]) ? &r->start : &r->stop));
    if (qr_jinja_is_given(c->arg[1]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[1], &r->stop));
    if (qr_jinja_is_given(c->arg[2]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[2], &r->step));
    if (r->step == 0)
        return qr_jinja_type_error(j, "range() arg 3 must not be zero");
    /* unsigned, because distances can exceed INT64_MAX */
    const bool up = r->step > 0, empty = up ? r->start >= r->stop : r->start <= r->stop;
    const uint64_t distance =
        up ? (uint64_t)r->stop - (uint64_t)r->start : (uint64_t)r->start - (uint64_t)r->stop;
    const uint64_t stride = up ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    const uint64_t n = empty ? 0 : (distance - 1) / stride + 1;
    if (n > MAX_RANGE)
        return qr_jinja_fail(j, QUIRE_E_LIMIT,
                             "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).",
                             MAX_RANGE);
    r->n = (int64_t)n;
    *out = (struct qr_jinja_value){ .type = QR_JINJA_RANGE, .r = r };
    return QUIRE_OK;
}

/* dict(mapping or pairs, name=value, ...). */
static quire_status make_dict(struct qr_jinja *j, const struct qr_jinja_args *args,
                              struct qr_jinja_dict **out)
{
    struct qr_jinja_dict *d;
    QR_TRY(qr_jinja_dict_new(j, &d));
    if (args->n_pos > 1)
        return qr_jinja_type_error(j, "dict expected at most 1 argument, got %zu", args->n_pos);
    if (args->n_pos && args->pos[0].type == QR_JINJA_DICT) {
        const struct qr_jinja_dict *src = args->pos[0].d;
        for (size_t i = 0; i < src->n; i++)
            QR_TRY(qr_jinja_dict_set(j, d, src->entries[i].key, src->entries[i].value));
    } else if (args->n_pos) {
        struct qr_jinja_list items, pair;
        QR_TRY(qr_jinja_iterate(j, args->pos[0], &items));
        for (size_t i = 0; i < items.n; i++) {
            QR_TRY(qr_jinja_iterate(j, items.items[i], &pair));
            if (pair.n != 2)
                return qr_jinja_type_error(
                    j, "dictionary update sequence element #%zu has length %zu; 2 is required", i,
                    pair.n);
            QR_TRY(qr_jinja_dict_set(j, d, pair.items[0], pair.items[1]));
        }
    }
    for (size_t i = 0; i < args->n_kw; i++)
        QR_TRY(qr_jinja_dict_set(j, d, args->kw_names[i], args->kw_values[i]));
    *out = d;
    return QUIRE_OK;
}

static quire_status g_dict(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(make_dict(j, c->args, &d));
    *out = qr_jinja_dict_value(d);
    return QUIRE_OK;
}

static quire_status g_namespace(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(make_dict(j, c->args, &d));
    *out = (struct qr_jinja_value){ .type = QR_JINJA_NAMESPACE, .d = d };
    return QUIRE_OK;
}

/* Borrows the arguments, which live in the arena. */
static quire_status g_cycler(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    struct qr_jinja_cycler *cycler;
    if (!c->args->n_pos || c->args->n_kw)
        return qr_jinja_type_error(j, "at least one item has to be provided");
    QR_JINJA_NEW(j, cycler, 1);
    cycler->n = c->args->n_pos;
    cycler->items = c->args->pos;
    *out = (struct qr_jinja_value){ .type = QR_JINJA_CYCLER, .cycler = cycler };
    return QUIRE_OK;
}

static quire_status g_joiner(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    struct qr_jinja_joiner *joiner;
    QR_JINJA_NEW(j, joiner, 1);
    joiner->sep = c->arg[0];
    if (!qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_str_literal(j, ", ", &joiner->sep));
    *out = (struct qr_jinja_value){ .type = QR_JINJA_JOINER, .joiner = joiner };
    return QUIRE_OK;
}

static quire_status g_lipsum(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    (void)c;
    (void)out;
    return qr_jinja_fail(j, QUIRE_E_UNSUPPORTED, "template: lipsum is not supported");
}

/* Fails with the message of the template. */
static quire_status g_raise_exception(struct qr_jinja *j, const struct qr_jinja_call *c,
                                      struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    (void)out;
    QR_TRY(qr_jinja_to_str(j, c->arg[0], &s));
    return qr_jinja_fail(j, QUIRE_E_INVALID_ARG, "%.*s", s->n > 1000 ? 1000 : (int)s->n, s->p);
}

static quire_status g_strftime_now(struct qr_jinja *j, const struct qr_jinja_call *c,
                                   struct qr_jinja_value *out)
{
    const struct qr_jinja_str *fmt;
    struct tm now = { .tm_mday = 1 };
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &fmt));
    j->now(j->now_user, &now);
    return qr_jinja_strftime(j, fmt, &now, out);
}

const struct qr_jinja_builtin *qr_jinja_global_find(const struct qr_jinja_str *name)
{
    static const struct qr_jinja_builtin globals[] = {
        { "range", g_range, "start stop step", 1 },
        { "dict", g_dict, "*", 0 },
        { "namespace", g_namespace, "*", 0 },
        { "cycler", g_cycler, "*", 0 },
        { "joiner", g_joiner, "sep", 0 },
        { "lipsum", g_lipsum, "*", 0 },
        { "raise_exception", g_raise_exception, "message", 1 },
        { "strftime_now", g_strftime_now, "format", 1 },
    };
    return qr_jinja_builtin_find(globals, sizeof globals / sizeof *globals, name);
}
