/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_percent.c - "%s" % values. */
#include "jinja/format.h"

struct percent {
    struct qr_j *j;
    const struct qr_j_str *fmt;
    size_t off;
    struct qr_j_value values;
    size_t next; /* of a tuple, or 1 once the single value is used */
    struct qr_j_sb sb;
};

static quire_status next_value(struct percent *p, struct qr_j_value *out)
{
    const bool tuple = qr_j_is_tuple(p->values);
    if (p->next >= (tuple ? p->values.l->n : 1))
        return qr_j_type_error(p->j, "not enough arguments for format string");
    *out = tuple ? p->values.l->items[p->next] : p->values;
    p->next++;
    return QUIRE_OK;
}

/* A number or a star, which takes the next value. */
static quire_status percent_number(struct percent *p, int64_t *out)
{
    struct qr_j_value v;
    if (p->off >= p->fmt->n || p->fmt->p[p->off] != '*')
        return qr_j_format_number(p->j, p->fmt, &p->off, out);
    p->off++;
    QR_TRY(next_value(p, &v));
    QR_TRY(qr_j_want_int(p->j, v, out));
    if (*out > QR_J_MAX_WIDTH || *out < -QR_J_MAX_WIDTH)
        return qr_j_fail(p->j, QUIRE_E_LIMIT, "chat template: width or precision too large");
    return QUIRE_OK;
}

/* "%(name)s": looks name up in the mapping. */
static quire_status percent_name(struct percent *p, struct qr_j_value *out)
{
    const struct qr_j_str *f = p->fmt;
    const char *close = memchr(f->p + p->off, ')', f->n - p->off);
    if (!close)
        return qr_j_type_error(p->j, "incomplete format key");
    if (p->values.type != QR_J_DICT)
        return qr_j_type_error(p->j, "format requires a mapping");
    const size_t n = (size_t)(close - f->p) - p->off;
    struct qr_j_value *slot;
    QR_TRY(qr_j_dict_find_text(p->j, p->values.d, f->p + p->off, n, &slot));
    if (!slot)
        return qr_j_type_error(p->j, "'%.*s'", n > 60 ? 60 : (int)n, f->p + p->off);
    p->off += n + 1;
    *out = *slot;
    return QUIRE_OK;
}

/* A single character, or the number of one. */
static quire_status percent_char(struct percent *p, struct qr_j_value v,
                                 const struct qr_j_spec *spec)
{
    char buf[4];
    struct qr_j_str s = { .p = buf };
    if (v.type == QR_J_STR && v.s->n && qr_j_char_len(v.s->p[0]) == v.s->n)
        return qr_j_format_text(&p->sb, v.s, spec);
    if (!qr_j_is_intlike(v))
        return qr_j_type_error(p->j, "%%c requires int or char");
    const int64_t cp = qr_j_intlike(v);
    if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        return qr_j_type_error(p->j, "%%c arg not in range(0x110000)");
    s.n = qr_j_encode((uint32_t)cp, buf);
    return qr_j_format_text(&p->sb, &s, spec);
}

/* One value by the letter of its conversion. */
static quire_status percent_value(struct percent *p, struct qr_j_value v, struct qr_j_spec *spec)
{
    const struct qr_j_str *s;
    struct qr_j_sb repr;
    int64_t i;
    switch (spec->type) {
    case 's':
        QR_TRY(qr_j_to_str(p->j, v, &s));
        return qr_j_format_text(&p->sb, s, spec);
    case 'r':
    case 'a':
        qr_j_sb_init(&repr, p->j);
        QR_TRY(qr_j_sb_repr(&repr, v));
        QR_TRY(qr_j_sb_done(&repr, &v));
        return qr_j_format_text(&p->sb, v.s, spec);
    case 'c':
        return percent_char(p, v, spec);
    default:
        break;
    }
    if (qr_j_is_undefined(v))
        return qr_j_undefined_error(p->j, v);
    const bool real = strchr("eEfFgG", spec->type) != NULL;
    if (!qr_j_is_number(v))
        return real ? qr_j_type_error(p->j, "must be real number, not %s", qr_j_type_name(v))
                    : qr_j_type_error(p->j, "%%%c format: a real number is required, not %s",
                                      spec->type, qr_j_type_name(v));
    if (spec->align != '<' && spec->fill == '0')
        spec->align = '=';
    if (real)
        return qr_j_format_float(&p->sb, qr_j_to_double(v), spec);
    if (v.type == QR_J_FLOAT && spec->type != 'd')
        return qr_j_type_error(p->j, "%%%c format: an integer is required, not float", spec->type);
    i = v.type == QR_J_FLOAT ? 0 : qr_j_intlike(v);
    if (v.type == QR_J_FLOAT)
        QR_TRY(qr_j_double_to_int(p->j, v.f, &i));
    return qr_j_format_int(&p->sb, i, spec);
}

/* What follows a percent sign. */
static quire_status percent_field(struct percent *p)
{
    const struct qr_j_str *f = p->fmt;
    struct qr_j_spec spec = { .precision = -1, .align = '>' };
    struct qr_j_value v = qr_j_missing();
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
        p->off++; /* C's lengths are allowed and mean nothing */
    if (p->off >= f->n)
        return qr_j_type_error(p->j, "incomplete format");
    spec.type = f->p[p->off++];
    if (spec.type == '%')
        return qr_j_sb_addz(&p->sb, "%");
    if (!strchr("sracdiuoxXeEfFgG", spec.type) || !spec.type)
        return qr_j_type_error(p->j, "unsupported format character at index %zu", p->off - 1);
    if (spec.type == 'i' || spec.type == 'u')
        spec.type = 'd';
    if (strchr("sra", spec.type) || spec.align == '<')
        spec.fill = 0;
    if (!qr_j_given(v))
        QR_TRY(next_value(p, &v));
    return percent_value(p, v, &spec);
}

quire_status qr_j_percent_format(struct qr_j *j, const struct qr_j_str *fmt,
                                 struct qr_j_value values, struct qr_j_value *out)
{
    struct percent p = { .j = j, .fmt = fmt, .values = values };
    qr_j_sb_init(&p.sb, j);
    while (p.off < fmt->n) {
        const char *sign = memchr(fmt->p + p.off, '%', fmt->n - p.off);
        const size_t at = sign ? (size_t)(sign - fmt->p) : fmt->n;
        QR_TRY(qr_j_step(j, 1));
        QR_TRY(qr_j_sb_part(&p.sb, fmt, p.off, at - p.off));
        p.off = at + 1;
        if (sign)
            QR_TRY(percent_field(&p));
    }
    /* a single value that has items may be left over, as if it were meant for %(name)s */
    const bool has_items = values.type == QR_J_DICT || values.type == QR_J_RANGE ||
                           qr_j_is_undefined(values) || qr_j_is_plain_list(values);
    const bool all_used = qr_j_is_tuple(values) ? p.next >= values.l->n : p.next || has_items;
    if (!all_used)
        return qr_j_type_error(j, "not all arguments converted during string formatting");
    return qr_j_sb_done(&p.sb, out);
}
