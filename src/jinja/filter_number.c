/* SPDX-License-Identifier: Apache-2.0 */
/* filter_number.c - filters on numbers, default, and the filters that are not supported. */
#include "jinja/filter_number.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/arith.h"
#include "jinja/convert.h"
#include "jinja/format_spec.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/value.h"
#include <math.h>

static quire_status f_abs(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    const struct qr_jinja_value v = c->self;
    if (v.type == QR_JINJA_FLOAT) {
        *out = qr_jinja_float(fabs(v.f));
        return QUIRE_OK;
    }
    if (qr_jinja_is_undefined(v) || !qr_jinja_is_integral(v))
        return qr_jinja_type_error(j, "bad operand type for abs(): '%s'", qr_jinja_type_name(v));
    *out = qr_jinja_int(qr_jinja_integral(v));
    return out->i < 0 ? qr_jinja_negate(j, *out, out) : QUIRE_OK;
}

/* Yields the default for strings that are not numbers and for other types. A base that Python's
 * int() rejects is no error, because Jinja2 then tries float(). */
static quire_status f_int(struct qr_jinja *j, const struct qr_jinja_call *c,
                          struct qr_jinja_value *out)
{
    int64_t base = 10, i = 0;
    double f = 0;
    bool ok = true;
    *out = qr_jinja_is_given(c->arg[0]) ? c->arg[0] : qr_jinja_int(0);
    if (qr_jinja_is_given(c->arg[1]))
        base = qr_jinja_is_integral(c->arg[1]) ? qr_jinja_integral(c->arg[1]) : -1;
    if (qr_jinja_is_undefined(c->self))
        return qr_jinja_undefined_error(j, c->self);
    if (qr_jinja_is_integral(c->self)) {
        *out = qr_jinja_int(qr_jinja_integral(c->self));
        return QUIRE_OK;
    }
    if (c->self.type == QR_JINJA_STR) {
        QR_TRY(qr_jinja_str_to_int(j, c->self.s, base, &ok, &i));
        if (ok) {
            *out = qr_jinja_int(i);
            return QUIRE_OK;
        }
        QR_TRY(qr_jinja_str_to_double(j, c->self.s, &ok, &f)); /* "42.23" yields 42 */
    } else if (c->self.type == QR_JINJA_FLOAT) {
        f = c->self.f;
    } else {
        ok = false;
    }
    if (!ok || !isfinite(f))
        return QUIRE_OK;
    QR_TRY(qr_jinja_double_to_int(j, f, &i));
    *out = qr_jinja_int(i);
    return QUIRE_OK;
}

static quire_status f_float(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    double f = 0;
    bool ok = qr_jinja_is_number(c->self);
    if (ok)
        f = qr_jinja_to_double(c->self);
    else if (qr_jinja_is_undefined(c->self))
        return qr_jinja_undefined_error(j, c->self);
    else if (c->self.type == QR_JINJA_STR)
        QR_TRY(qr_jinja_str_to_double(j, c->self.s, &ok, &f));
    *out = ok ? qr_jinja_float(f) : qr_jinja_is_given(c->arg[0]) ? c->arg[0] : qr_jinja_float(0);
    return QUIRE_OK;
}

/* Python's round(f, digits). Correctly rounded, because it rounds the exact decimal expansion. */
static quire_status round_common(struct qr_jinja *j, double f, int64_t digits, double *out)
{
    char buf[QR_FLOAT_CHARS_MAX];
    QR_TRY(qr_jinja_charge(j, 500));
    *out = f;
    if (!isfinite(f) || digits > QR_MAX_FLOAT_PRECISION)
        return QUIRE_OK;
    if (digits < 0) {
        const double unit = digits < -308 ? HUGE_VAL : pow(10, (double)-digits);
        *out = copysign(isinf(unit) ? 0 : rint(f / unit) * unit, f);
        return QUIRE_OK;
    }
    const size_t n = qr_float_format(fabs(f), 'f', (int)digits, false, buf);
    (void)qr_strtod(buf, n, out); /* succeeds: buf holds a number */
    *out = copysign(*out, f);
    return QUIRE_OK;
}

/* Python's round(v, digits) of an integer: for negative digits the nearest multiple of a power of
 * ten, halves to the even one. */
static quire_status round_int(struct qr_jinja *j, int64_t v, int64_t digits,
                              struct qr_jinja_value *out)
{
    uint64_t unit = 1, n = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (digits >= 0 || digits < -19) { /* 10^20 is more than twice every integer */
        *out = qr_jinja_int(digits >= 0 ? v : 0);
        return QUIRE_OK;
    }
    for (; digits < 0; digits++)
        unit *= 10;
    const uint64_t rest = n % unit;
    n -= rest;
    if (rest > unit - rest || (rest == unit - rest && n / unit % 2))
        n += unit; /* at most 10^19 */
    if (n > INT64_MAX)
        return qr_jinja_fail(j, QUIRE_E_RANGE, "template: integer beyond 64 bits");
    *out = qr_jinja_int(v < 0 ? -(int64_t)n : (int64_t)n);
    return QUIRE_OK;
}

static quire_status f_round(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    int64_t digits = 0;
    double f;
    const struct qr_jinja_str *method = NULL;
    if (qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[0], &digits));
    if (qr_jinja_is_given(c->arg[1]))
        QR_TRY(qr_jinja_expect_str(j, c->arg[1], &method));
    if (qr_jinja_is_undefined(c->self))
        return qr_jinja_undefined_error(j, c->self);
    if (!qr_jinja_is_number(c->self))
        return qr_jinja_type_error(j, "type %s doesn't define __round__ method",
                                   qr_jinja_type_name(c->self));
    f = qr_jinja_to_double(c->self);
    if (!method || qr_jinja_str_is(method, "common")) {
        if (c->self.type != QR_JINJA_FLOAT)
            return round_int(j, qr_jinja_integral(c->self), digits, out);
        QR_TRY(round_common(j, f, digits, &f));
        *out = qr_jinja_float(f);
        return QUIRE_OK;
    }
    const bool ceiling = qr_jinja_str_is(method, "ceil");
    if (!ceiling && !qr_jinja_str_is(method, "floor"))
        return qr_jinja_type_error(j, "method must be common, ceil or floor");
    const double unit = pow(10, (double)digits);
    *out = qr_jinja_float((ceiling ? ceil(f * unit) : floor(f * unit)) / unit);
    return QUIRE_OK;
}

/* "4.1 MB", or "3.9 MiB" with binary=true. */
static quire_status f_filesizeformat(struct qr_jinja *j, const struct qr_jinja_call *c,
                                     struct qr_jinja_value *out)
{
    static const char prefixes[] = "kMGTPEZY";
    const bool binary = qr_jinja_truth(c->arg[0]);
    const double base = binary ? 1024 : 1000;
    struct qr_jinja_value number = qr_jinja_float(0);
    struct qr_jinja_sb sb;
    int prefix = -1;
    const struct qr_jinja_call to_float = { .self = c->self, .arg = { qr_jinja_none() } };
    QR_TRY(f_float(j, &to_float, &number));
    if (number.type != QR_JINJA_FLOAT)
        return qr_jinja_type_error(j, "could not convert %s to float", qr_jinja_type_name(c->self));
    double bytes = number.f;
    qr_jinja_sb_init(&sb, j);
    if (bytes == 1) {
        QR_TRY(qr_jinja_sb_append_literal(&sb, "1 Byte"));
        return qr_jinja_sb_finish(&sb, out);
    }
    for (; !(bytes < base) && prefix < 7; prefix++) /* also NaN */
        bytes /= base;
    if (prefix < 0) {
        int64_t whole;
        QR_TRY(qr_jinja_double_to_int(j, bytes, &whole));
        QR_TRY(qr_jinja_sb_append_int(&sb, whole));
        QR_TRY(qr_jinja_sb_append_literal(&sb, " Bytes"));
        return qr_jinja_sb_finish(&sb, out);
    }
    const struct qr_jinja_format_spec spec = { .type = 'f', .precision = 1 };
    QR_TRY(qr_jinja_format_float(&sb, bytes, &spec));
    const char letter = binary && prefix == 0 ? 'K' : prefixes[prefix];
    QR_TRY(qr_jinja_sb_append(&sb, (const char[]){ ' ', letter }, 2, false));
    QR_TRY(qr_jinja_sb_append_literal(&sb, binary ? "iB" : "B"));
    return qr_jinja_sb_finish(&sb, out);
}

/* boolean=true replaces every false value, not only undefined ones. */
static quire_status f_default(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    const bool absent =
        qr_jinja_is_undefined(c->self) || (qr_jinja_truth(c->arg[1]) && !qr_jinja_truth(c->self));
    *out = absent ? c->arg[0] : c->self;
    return absent && !qr_jinja_is_given(c->arg[0]) ? qr_jinja_str_literal(j, "", out) : QUIRE_OK;
}

static quire_status f_unsupported(struct qr_jinja *j, const struct qr_jinja_call *c,
                                  struct qr_jinja_value *out)
{
    (void)c;
    (void)out;
    return qr_jinja_fail(
        j, QUIRE_E_UNSUPPORTED,
        "template: the filters random, urlize, wordwrap, striptags and pprint are not "
        "supported");
}

static const struct qr_jinja_builtin filters[] = {
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

const struct qr_jinja_builtin *qr_jinja_filters_number(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
