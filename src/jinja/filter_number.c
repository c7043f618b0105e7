/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_filter_number.c - filters on numbers, conversions, default, and the look-up of all
 * filters. */
#include "jinja/call.h"
#include "jinja/format.h"
#include <math.h>

static quire_status f_abs(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_value v = c->self;
    if (v.type == QR_J_FLOAT) {
        *out = qr_j_float(fabs(v.f));
        return QUIRE_OK;
    }
    if (qr_j_is_undefined(v) || !qr_j_is_intlike(v))
        return qr_j_type_error(j, "bad operand type for abs(): '%s'", qr_j_type_name(v));
    *out = qr_j_int(qr_j_intlike(v));
    return out->i < 0 ? qr_j_negate(j, *out, out) : QUIRE_OK;
}

/* Never fails on text or other types: the default is for that. */
static quire_status f_int(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    int64_t base = 10, i = 0;
    double f = 0;
    bool ok = true;
    *out = qr_j_given(c->a[0]) ? c->a[0] : qr_j_int(0);
    if (qr_j_given(c->a[1]))
        QR_TRY(qr_j_want_int(j, c->a[1], &base));
    if (qr_j_is_undefined(c->self))
        return qr_j_undefined_error(j, c->self);
    if (qr_j_is_intlike(c->self)) {
        *out = qr_j_int(qr_j_intlike(c->self));
        return QUIRE_OK;
    }
    if (c->self.type == QR_J_STR) {
        QR_TRY(qr_j_str_to_int(j, c->self.s, base, &ok, &i));
        if (ok) {
            *out = qr_j_int(i);
            return QUIRE_OK;
        }
        QR_TRY(qr_j_str_to_double(j, c->self.s, &ok, &f)); /* "42.23" is 42 */
    } else if (c->self.type == QR_J_FLOAT) {
        f = c->self.f;
    } else {
        ok = false;
    }
    if (!ok || !isfinite(f))
        return QUIRE_OK;
    QR_TRY(qr_j_double_to_int(j, f, &i));
    *out = qr_j_int(i);
    return QUIRE_OK;
}

static quire_status f_float(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    double f = 0;
    bool ok = qr_j_is_number(c->self);
    if (ok)
        f = qr_j_to_double(c->self);
    else if (qr_j_is_undefined(c->self))
        return qr_j_undefined_error(j, c->self);
    else if (c->self.type == QR_J_STR)
        QR_TRY(qr_j_str_to_double(j, c->self.s, &ok, &f));
    *out = ok ? qr_j_float(f) : qr_j_given(c->a[0]) ? c->a[0] : qr_j_float(0);
    return QUIRE_OK;
}

/* round(f, digits) of Python: correctly rounded, for it goes through the decimal digits. */
static quire_status round_common(struct qr_j *j, double f, int64_t digits, double *out)
{
    char buf[QR_J_NUMBER_MAX];
    QR_TRY(qr_j_step(j, 500));
    *out = f;
    if (!isfinite(f) || digits > QR_J_MAX_PRECISION)
        return QUIRE_OK;
    if (digits < 0) {
        const double unit = digits < -308 ? HUGE_VAL : pow(10, (double)-digits);
        *out = copysign(isinf(unit) ? 0 : rint(f / unit) * unit, f);
        return QUIRE_OK;
    }
    const size_t n = qr_j_float_format(fabs(f), 'f', (int)digits, false, buf);
    if (qr_j_parse_double(buf, n, out))
        *out = copysign(*out, f);
    return QUIRE_OK;
}

static quire_status to_int(struct qr_j *j, double f, struct qr_j_value *out)
{
    int64_t i;
    QR_TRY(qr_j_double_to_int(j, f, &i));
    *out = qr_j_int(i);
    return QUIRE_OK;
}

static quire_status f_round(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    int64_t digits = 0;
    double f;
    const struct qr_j_str *method = NULL;
    if (qr_j_given(c->a[0]))
        QR_TRY(qr_j_want_int(j, c->a[0], &digits));
    if (qr_j_given(c->a[1]))
        QR_TRY(qr_j_want_str(j, c->a[1], &method));
    if (qr_j_is_undefined(c->self))
        return qr_j_undefined_error(j, c->self);
    if (!qr_j_is_number(c->self))
        return qr_j_type_error(j, "type %s doesn't define __round__ method",
                               qr_j_type_name(c->self));
    f = qr_j_to_double(c->self);
    if (!method || qr_j_str_is(method, "common")) {
        if (c->self.type != QR_J_FLOAT && digits >= 0) {
            *out = qr_j_int(qr_j_intlike(c->self));
            return QUIRE_OK;
        }
        QR_TRY(round_common(j, f, digits, &f));
        *out = qr_j_float(f);
        return c->self.type == QR_J_FLOAT ? QUIRE_OK : to_int(j, f, out);
    }
    const bool ceiling = qr_j_str_is(method, "ceil");
    if (!ceiling && !qr_j_str_is(method, "floor"))
        return qr_j_type_error(j, "method must be common, ceil or floor");
    const double unit = pow(10, (double)digits);
    *out = qr_j_float((ceiling ? ceil(f * unit) : floor(f * unit)) / unit);
    return QUIRE_OK;
}

/* 4.1 MB, or 3.9 MiB. */
static quire_status f_filesizeformat(struct qr_j *j, const struct qr_j_call *c,
                                     struct qr_j_value *out)
{
    static const char prefixes[] = "kMGTPEZY";
    const bool binary = qr_j_truth(c->a[0]);
    const double base = binary ? 1024 : 1000;
    struct qr_j_value number = qr_j_float(0);
    struct qr_j_sb sb;
    int prefix = -1;
    const struct qr_j_call to_float = { .self = c->self, .a = { qr_j_none() } };
    QR_TRY(f_float(j, &to_float, &number));
    if (number.type != QR_J_FLOAT)
        return qr_j_type_error(j, "could not convert %s to float", qr_j_type_name(c->self));
    double bytes = number.f;
    qr_j_sb_init(&sb, j);
    if (bytes == 1) {
        QR_TRY(qr_j_sb_addz(&sb, "1 Byte"));
        return qr_j_sb_done(&sb, out);
    }
    for (; bytes >= base && prefix < 7; prefix++)
        bytes /= base;
    if (prefix < 0) {
        int64_t whole;
        QR_TRY(qr_j_double_to_int(j, bytes, &whole));
        QR_TRY(qr_j_sb_int(&sb, whole));
        QR_TRY(qr_j_sb_addz(&sb, " Bytes"));
        return qr_j_sb_done(&sb, out);
    }
    const struct qr_j_spec spec = { .type = 'f', .precision = 1 };
    QR_TRY(qr_j_format_float(&sb, bytes, &spec));
    const char letter = binary && prefix == 0 ? 'K' : prefixes[prefix];
    QR_TRY(qr_j_sb_add(&sb, (const char[]){ ' ', letter }, 2, false));
    QR_TRY(qr_j_sb_addz(&sb, binary ? "iB" : "B"));
    return qr_j_sb_done(&sb, out);
}

/* With boolean=true every false value is replaced, not only undefined ones. */
static quire_status f_default(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const bool absent = qr_j_is_undefined(c->self) || (qr_j_truth(c->a[1]) && !qr_j_truth(c->self));
    *out = absent ? c->a[0] : c->self;
    return absent && !qr_j_given(c->a[0]) ? qr_j_textz(j, "", out) : QUIRE_OK;
}

static quire_status f_unsupported(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    (void)c;
    (void)out;
    return qr_j_fail(
        j, QUIRE_E_UNSUPPORTED,
        "chat template: the filters random, urlize, wordwrap, striptags and pprint are not "
        "supported");
}

static const struct qr_j_builtin filters[] = {
    { "abs", f_abs, "", 0 },
    { "d", f_default, "default_value boolean", 0 },
    { "default", f_default, "default_value boolean", 0 },
    { "filesizeformat", f_filesizeformat, "binary", 0 },
    { "float", f_float, "default", 0 },
    { "int", f_int, "default base", 0 },
    { "pprint", f_unsupported, "*", 0 },
    { "random", f_unsupported, "*", 0 },
    { "round", f_round, "precision method", 0 },
    { "striptags", f_unsupported, "*", 0 },
    { "urlize", f_unsupported, "*", 0 },
    { "wordwrap", f_unsupported, "*", 0 },
};

const struct qr_j_builtin *qr_j_filters_number(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}

const struct qr_j_builtin *qr_j_filter_find(const struct qr_j_str *name)
{
    static const struct qr_j_builtin *(*const parts[])(size_t *) = {
        qr_j_filters_text, qr_j_filters_list, qr_j_filters_select, qr_j_filters_number
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n;
        const struct qr_j_builtin *table = parts[i](&n);
        const struct qr_j_builtin *found = qr_j_table_find(table, n, name);
        if (found)
            return found;
    }
    return NULL;
}
