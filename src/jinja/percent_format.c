/* SPDX-License-Identifier: Apache-2.0 */
/* percent_format.c - printf-style formatting of str: "%s" % values. */
#include "jinja/percent_format.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/convert.h"
#include "jinja/dict.h"
#include "jinja/format_spec.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/string_builder.h"
#include "jinja/undefined.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

struct formatter {
    struct qr_jinja *j;
    const struct qr_jinja_str *fmt;
    size_t off;
    struct qr_jinja_value values;
    size_t next; /* index in a tuple, or 1 once the single value is used */
    struct qr_jinja_sb sb;
};

static quire_status next_value(struct formatter *p, struct qr_jinja_value *out)
{
    const bool tuple = qr_jinja_is_tuple(p->values);
    if (p->next >= (tuple ? p->values.l->n : 1))
        return qr_jinja_type_error(p->j, "not enough arguments for format string");
    *out = tuple ? p->values.l->items[p->next] : p->values;
    p->next++;
    return QUIRE_OK;
}

/* Parses a number, or `*`, which takes the next value. */
static quire_status percent_number(struct formatter *p, int64_t *out)
{
    struct qr_jinja_value v;
    if (p->off >= p->fmt->n || p->fmt->p[p->off] != '*')
        return qr_jinja_parse_width(p->j, p->fmt, &p->off, out);
    p->off++;
    QR_TRY(next_value(p, &v));
    QR_TRY(qr_jinja_expect_int(p->j, v, out));
    if (*out > QR_JINJA_MAX_WIDTH || *out < -QR_JINJA_MAX_WIDTH)
        return qr_jinja_fail(p->j, QUIRE_E_LIMIT, "template: width or precision too large");
    return QUIRE_OK;
}

/* "%(name)s": looks up name in the mapping. */
static quire_status percent_name(struct formatter *p, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *f = p->fmt;
    const char *close = memchr(f->p + p->off, ')', f->n - p->off);
    if (!close)
        return qr_jinja_type_error(p->j, "incomplete format key");
    if (p->values.type != QR_JINJA_DICT)
        return qr_jinja_type_error(p->j, "format requires a mapping");
    const size_t n = (size_t)(close - f->p) - p->off;
    struct qr_jinja_value *slot;
    QR_TRY(qr_jinja_dict_find_bytes(p->j, p->values.d, f->p + p->off, n, &slot));
    if (!slot)
        return qr_jinja_type_error(p->j, "'%.*s'", n > 60 ? 60 : (int)n, f->p + p->off);
    p->off += n + 1;
    *out = *slot;
    return QUIRE_OK;
}

/* %c: a string of one character, or a code point. */
static quire_status percent_char(struct formatter *p, struct qr_jinja_value v,
                                 const struct qr_jinja_format_spec *spec)
{
    char buf[4];
    struct qr_jinja_str s = { .p = buf };
    if (v.type == QR_JINJA_STR && v.s->n && qr_jinja_utf8_len(v.s->p[0]) == v.s->n)
        return qr_jinja_format_str(&p->sb, v.s, spec);
    if (!qr_jinja_is_integral(v))
        return qr_jinja_type_error(p->j, "%%c requires int or char");
    const int64_t cp = qr_jinja_integral(v);
    if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        return qr_jinja_type_error(p->j, "%%c arg not in range(0x110000)");
    s.n = qr_jinja_utf8_encode((uint32_t)cp, buf);
    return qr_jinja_format_str(&p->sb, &s, spec);
}

/* Formats one value by its conversion type. */
static quire_status percent_value(struct formatter *p, struct qr_jinja_value v,
                                  struct qr_jinja_format_spec *spec)
{
    const struct qr_jinja_str *s;
    struct qr_jinja_sb repr;
    int64_t i;
    switch (spec->type) {
    case 's':
        QR_TRY(qr_jinja_to_str(p->j, v, &s));
        return qr_jinja_format_str(&p->sb, s, spec);
    case 'r':
    case 'a':
        qr_jinja_sb_init(&repr, p->j);
        QR_TRY(qr_jinja_print_repr(&repr, v));
        QR_TRY(qr_jinja_sb_finish(&repr, &v));
        return qr_jinja_format_str(&p->sb, v.s, spec);
    case 'c':
        return percent_char(p, v, spec);
    default:
        break;
    }
    if (qr_jinja_is_undefined(v))
        return qr_jinja_undefined_error(p->j, v);
    const bool real = strchr("eEfFgG", spec->type) != NULL;
    if (!qr_jinja_is_number(v))
        return real
                   ? qr_jinja_type_error(p->j, "must be real number, not %s", qr_jinja_type_name(v))
                   : qr_jinja_type_error(p->j, "%%%c format: a real number is required, not %s",
                                         spec->type, qr_jinja_type_name(v));
    if (spec->align != '<' && spec->fill == '0')
        spec->align = '=';
    if (real)
        return qr_jinja_format_float(&p->sb, qr_jinja_to_double(v), spec);
    if (v.type == QR_JINJA_FLOAT && spec->type != 'd')
        return qr_jinja_type_error(p->j, "%%%c format: an integer is required, not float",
                                   spec->type);
    i = v.type == QR_JINJA_FLOAT ? 0 : qr_jinja_integral(v);
    if (v.type == QR_JINJA_FLOAT)
        QR_TRY(qr_jinja_double_to_int(p->j, v.f, &i));
    return qr_jinja_format_int(&p->sb, i, spec);
}

/* Parses and formats the conversion after a percent sign. */
static quire_status percent_field(struct formatter *p)
{
    const struct qr_jinja_str *f = p->fmt;
    struct qr_jinja_format_spec spec = { .precision = -1, .align = '>' };
    struct qr_jinja_value v = qr_jinja_missing();
    if (p->off < f->n && f->p[p->off] == '(') {
        p->off++;
        QR_TRY(percent_name(p, &v));
    }
    for (; p->off < f->n && strchr("-+ #0", f->p[p->off]) && f->p[p->off]; p->off++) {
        const char c = f->p[p->off];
        spec.align = c == '-' ? '<' : spec.align;
        spec.sign = c == '+' || (c == ' ' && !spec.sign) ? c : spec.sign;
        spec.alternate = spec.alternate || c == '#';
        spec.fill = c == '0' ? '0' : spec.fill;
    }
    QR_TRY(percent_number(p, &spec.width));
    if (spec.width < 0) {
        spec.align = '<';
        spec.width = -spec.width;
    }
    if (p->off < f->n && f->p[p->off] == '.') {
        p->off++;
        QR_TRY(percent_number(p, &spec.precision));
        spec.precision = spec.precision < 0 ? 0 : spec.precision;
    }
    while (p->off < f->n && (f->p[p->off] == 'l' || f->p[p->off] == 'h' || f->p[p->off] == 'L'))
        p->off++; /* length modifiers of C are accepted and ignored */
    if (p->off >= f->n)
        return qr_jinja_type_error(p->j, "incomplete format");
    spec.type = f->p[p->off++];
    if (spec.type == '%')
        return qr_jinja_sb_append_literal(&p->sb, "%");
    if (!strchr("sracdiuoxXeEfFgG", spec.type) || !spec.type)
        return qr_jinja_type_error(p->j, "unsupported format character at index %zu", p->off - 1);
    if (spec.type == 'i' || spec.type == 'u')
        spec.type = 'd';
    if (strchr("sra", spec.type) || spec.align == '<')
        spec.fill = 0;
    if (!qr_jinja_is_given(v))
        QR_TRY(next_value(p, &v));
    return percent_value(p, v, &spec);
}

quire_status qr_jinja_percent_format(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                                     struct qr_jinja_value values, struct qr_jinja_value *out)
{
    struct formatter p = { .j = j, .fmt = fmt, .values = values };
    qr_jinja_sb_init(&p.sb, j);
    while (p.off < fmt->n) {
        const char *sign = memchr(fmt->p + p.off, '%', fmt->n - p.off);
        const size_t at = sign ? (size_t)(sign - fmt->p) : fmt->n;
        QR_TRY(qr_jinja_charge(j, 1));
        QR_TRY(qr_jinja_sb_append_range(&p.sb, fmt, p.off, at - p.off));
        p.off = at + 1;
        if (sign)
            QR_TRY(percent_field(&p));
    }
    /* A single value with items may stay unused, as if it were the mapping of %(name)s. */
    const bool has_items = values.type == QR_JINJA_DICT || values.type == QR_JINJA_RANGE ||
                           qr_jinja_is_undefined(values) || qr_jinja_is_plain_list(values);
    const bool all_used = qr_jinja_is_tuple(values) ? p.next >= values.l->n : p.next || has_items;
    if (!all_used)
        return qr_jinja_type_error(j, "not all arguments converted during string formatting");
    return qr_jinja_sb_finish(&p.sb, out);
}
