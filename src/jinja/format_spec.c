/* SPDX-License-Identifier: Apache-2.0 */
/* format_spec.c - formats one number or string with width, sign, alignment and precision. */
#include "jinja/format_spec.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <math.h>

quire_status qr_jinja_parse_width(struct qr_jinja *j, const struct qr_jinja_str *s, size_t *off,
                                  int64_t *out)
{
    for (*out = 0; *off < s->n && s->p[*off] >= '0' && s->p[*off] <= '9'; ++*off) {
        *out = *out * 10 + (s->p[*off] - '0');
        if (*out > QR_JINJA_MAX_WIDTH)
            return qr_jinja_fail(j, QUIRE_E_LIMIT, "template: width or precision too large");
    }
    return QUIRE_OK;
}

/* Appends the prefix (sign, 0x) and the body, padded to the width. */
static quire_status put_field(struct qr_jinja_sb *sb, const struct qr_jinja_str *prefix,
                              const struct qr_jinja_str *body,
                              const struct qr_jinja_format_spec *spec, char own_align)
{
    const int64_t chars = (int64_t)(prefix->n + qr_jinja_utf8_count(body->p, body->n));
    const int64_t pad = spec->width > chars ? spec->width - chars : 0;
    const char align = spec->align ? spec->align : own_align;
    const uint32_t fill = spec->fill ? spec->fill : ' ';
    const int64_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align == '=')
        QR_TRY(qr_jinja_sb_append_str(sb, prefix));
    QR_TRY(qr_jinja_sb_append_fill(sb, fill, left, spec->fill_tainted));
    if (align != '=')
        QR_TRY(qr_jinja_sb_append_str(sb, prefix));
    QR_TRY(qr_jinja_sb_append_str(sb, body));
    return qr_jinja_sb_append_fill(sb, fill, pad - left, spec->fill_tainted);
}

/* Copies digits[n] and inserts a separator between groups of `every` digits of the first `whole`
 * ones, the integer part. Returns the length. */
static size_t group_digits(const char *digits, size_t n, size_t whole, char sep, size_t every,
                           char *out)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && i < whole && (whole - i) % every == 0)
            out[len++] = sep;
        out[len++] = digits[i];
    }
    return len;
}

/* Returns the length of the sign, 0 or 1. */
static size_t put_sign(char *prefix, bool negative, char sign)
{
    if (negative || sign)
        prefix[0] = negative ? '-' : sign;
    return negative || sign;
}

static quire_status check_precision(struct qr_jinja *j, const struct qr_jinja_format_spec *spec)
{
    return spec->precision <= QR_MAX_FLOAT_PRECISION
               ? QUIRE_OK
               : qr_jinja_fail(j, QUIRE_E_LIMIT, "template: precision above %d",
                               QR_MAX_FLOAT_PRECISION);
}

quire_status qr_jinja_format_int(struct qr_jinja_sb *sb, int64_t v,
                                 const struct qr_jinja_format_spec *spec)
{
    char digits[QR_MAX_FLOAT_PRECISION], grouped[160], prefix[4];
    const char type = spec->type;
    const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    const char *symbols = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    size_t at = sizeof digits, n_prefix = put_sign(prefix, v < 0, spec->sign);
    QR_TRY(check_precision(sb->j, spec));
    do
        digits[--at] = symbols[u % base];
    while (u /= base);
    /* % formatting: precision is the minimum number of digits */
    while ((int64_t)(sizeof digits - at) < spec->precision)
        digits[--at] = '0';
    if (spec->alternate && base != 10) {
        prefix[n_prefix++] = '0';
        prefix[n_prefix++] = type;
    }
    struct qr_jinja_str body = { .p = digits + at, .n = sizeof digits - at };
    if (spec->group) {
        body.n = group_digits(body.p, body.n, body.n, spec->group, base == 10 ? 3 : 4, grouped);
        body.p = grouped;
    }
    return put_field(sb, &(struct qr_jinja_str){ .p = prefix, .n = n_prefix }, &body, spec, '>');
}

quire_status qr_jinja_format_float(struct qr_jinja_sb *sb, double v,
                                   const struct qr_jinja_format_spec *spec)
{
    char number[QR_FLOAT_CHARS_MAX + 1], grouped[2 * QR_FLOAT_CHARS_MAX], prefix[2];
    const char lower = (char)(spec->type | 0x20);
    const char kind = spec->type == '%' ? 'f' : lower;
    const int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    size_t n;
    QR_TRY(check_precision(sb->j, spec));
    QR_TRY(qr_jinja_charge(sb->j, 10));
    if (spec->type == '%')
        v *= 100;
    const bool negative = !isnan(v) && signbit(v);
    if (spec->type == 'r')
        n = qr_float_repr(fabs(v), number);
    else
        n = qr_float_format(fabs(v), kind, precision, spec->alternate, number);
    for (size_t i = 0; spec->type >= 'A' && spec->type <= 'Z' && i < n; i++)
        if (number[i] >= 'a' && number[i] <= 'z')
            number[i] = (char)(number[i] - 0x20);
    if (spec->type == '%')
        number[n++] = '%';
    struct qr_jinja_str body = { .p = number, .n = n };
    if (spec->group && isfinite(v)) {
        size_t whole = 0;
        while (whole < n && number[whole] >= '0' && number[whole] <= '9')
            whole++;
        body.n = group_digits(number, n, whole, spec->group, 3, grouped);
        body.p = grouped;
    }
    const struct qr_jinja_str sign = { .p = prefix, .n = put_sign(prefix, negative, spec->sign) };
    return put_field(sb, &sign, &body, spec, '>');
}

quire_status qr_jinja_format_str(struct qr_jinja_sb *sb, const struct qr_jinja_str *s,
                                 const struct qr_jinja_format_spec *spec)
{
    struct qr_jinja_value cut = qr_jinja_str_value(s);
    QR_TRY(qr_jinja_charge_bytes(sb->j, s->n));
    if (spec->precision >= 0)
        QR_TRY(
            qr_jinja_substr(sb->j, s, 0, qr_jinja_char_offset(s, (size_t)spec->precision), &cut));
    return put_field(sb, &(struct qr_jinja_str){ .p = "" }, cut.s, spec, '<');
}
