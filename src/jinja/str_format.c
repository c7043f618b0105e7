/* SPDX-License-Identifier: Apache-2.0 */
/* str_format.c - "{}".format(values): fields, attributes, items and format specs. */
#include "jinja/str_format.h"
#include "base/error.h"
#include "jinja/attr.h"
#include "jinja/format_spec.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

struct formatter {
    struct qr_jinja *j;
    const struct qr_jinja_args *args;
    struct qr_jinja_sb sb;
    int64_t next;   /* next automatic field number */
    char numbering; /* 'a': automatic, 'm': manual, 0: no numbered field yet */
};

/* [[fill]align][sign][#][0][width][,][.precision][type], not empty */
static quire_status parse_spec(struct qr_jinja *j, const struct qr_jinja_str *s,
                               struct qr_jinja_format_spec *spec)
{
    size_t i = 0;
    const size_t first = qr_jinja_utf8_len(s->p[0]);
    *spec = (struct qr_jinja_format_spec){ .precision = -1 };
    if (first < s->n && strchr("<>=^", s->p[first]) && s->p[first]) {
        spec->fill = qr_jinja_utf8_decode(s->p);
        spec->fill_tainted = qr_jinja_byte_tainted(s, 0);
        spec->align = s->p[first];
        i = first + 1;
    } else if (s->p[0] && strchr("<>=^", s->p[0])) {
        spec->align = s->p[0];
        i = 1;
    }
    if (i < s->n && (s->p[i] == '+' || s->p[i] == '-' || s->p[i] == ' ')) {
        spec->sign = s->p[i] == '-' ? 0 : s->p[i];
        i++;
    }
    if (i < s->n && s->p[i] == '#') {
        spec->alternate = true;
        i++;
    }
    if (i < s->n && s->p[i] == '0') {
        spec->fill = spec->fill ? spec->fill : '0';
        spec->align = spec->align ? spec->align : '=';
        i++;
    }
    QR_TRY(qr_jinja_parse_width(j, s, &i, &spec->width));
    if (i < s->n && (s->p[i] == ',' || s->p[i] == '_'))
        spec->group = s->p[i++];
    if (i < s->n && s->p[i] == '.') {
        const size_t digits = ++i;
        QR_TRY(qr_jinja_parse_width(j, s, &i, &spec->precision));
        if (i == digits)
            return qr_jinja_type_error(j, "Format specifier missing precision");
    }
    if (i < s->n && s->p[i])
        spec->type = s->p[i++];
    return i == s->n ? QUIRE_OK : qr_jinja_type_error(j, "Invalid format specifier");
}

/* Rejects what applies to numbers only. */
static quire_status check_str_spec(struct qr_jinja *j, const struct qr_jinja_format_spec *spec)
{
    if (spec->sign)
        return qr_jinja_type_error(j, "%s not allowed in string format specifier",
                                   spec->sign == ' ' ? "Space" : "Sign");
    if (spec->alternate)
        return qr_jinja_type_error(j, "Alternate form (#) not allowed in string format specifier");
    if (spec->group)
        return qr_jinja_type_error(j, "Cannot specify '%c' with 's'.", spec->group);
    return QUIRE_OK;
}

static quire_status unknown_code(struct qr_jinja *j, char type, struct qr_jinja_value v)
{
    return qr_jinja_type_error(j, "Unknown format code '%c' for object of type '%s'", type,
                               qr_jinja_type_name(v));
}

/* format(v, spec). */
static quire_status format_value(struct formatter *b, struct qr_jinja_value v,
                                 const struct qr_jinja_str *spec_text)
{
    struct qr_jinja_format_spec spec;
    if (!spec_text->n)
        return qr_jinja_print_str(&b->sb, v);
    QR_TRY(parse_spec(b->j, spec_text, &spec));
    if (qr_jinja_is_number(v)) {
        const bool real = spec.type && strchr("eEfFgG%", spec.type);
        if (v.type == QR_JINJA_FLOAT || real) {
            if (spec.type && !real)
                return unknown_code(b->j, spec.type, v);
            if (!spec.type)
                spec.type = spec.precision < 0 ? 'r' : 'g';
            return qr_jinja_format_float(&b->sb, qr_jinja_to_double(v), &spec);
        }
        if (spec.type && !strchr("bdoxXn", spec.type))
            return unknown_code(b->j, spec.type, v);
        if (spec.precision >= 0)
            return qr_jinja_type_error(b->j, "Precision not allowed in integer format specifier");
        if (spec.group == ',' && spec.type && spec.type != 'd')
            return qr_jinja_type_error(b->j, "Cannot specify ',' with '%c'.", spec.type);
        spec.type = spec.type && spec.type != 'n' ? spec.type : 'd';
        return qr_jinja_format_int(&b->sb, qr_jinja_integral(v), &spec);
    }
    if (v.type != QR_JINJA_STR)
        return qr_jinja_type_error(b->j, "unsupported format string passed to %s.__format__",
                                   qr_jinja_type_name(v));
    if (spec.type && spec.type != 's')
        return unknown_code(b->j, spec.type, v);
    QR_TRY(check_str_spec(b->j, &spec));
    if (spec.align == '=' && spec.fill != '0')
        return qr_jinja_type_error(b->j, "'=' alignment not allowed in string format specifier");
    spec.align = spec.align == '=' ? '<' : spec.align;
    return qr_jinja_format_str(&b->sb, v.s, &spec);
}

static quire_status set_numbering(struct formatter *b, char numbering)
{
    if (b->numbering && b->numbering != numbering)
        return qr_jinja_type_error(
            b->j, numbering == 'a'
                      ? "cannot switch from manual field specification to automatic field numbering"
                      : "cannot switch from automatic field numbering to manual field "
                        "specification");
    b->numbering = numbering;
    return QUIRE_OK;
}

/* Value of a field name: "", "0" or "name", followed by ".attr" and "[item]". */
static quire_status field_value(struct formatter *b, const struct qr_jinja_str *f,
                                struct qr_jinja_value *out)
{
    size_t i = 0;
    int64_t number;
    struct qr_jinja_value key;
    while (i < f->n && f->p[i] != '.' && f->p[i] != '[')
        i++;
    const struct qr_jinja_str name = { .p = f->p, .n = i };
    size_t digits = 0;
    QR_TRY(qr_jinja_parse_width(b->j, &name, &digits, &number));
    if (digits == name.n) {
        QR_TRY(set_numbering(b, digits ? 'm' : 'a'));
        if (!digits)
            number = b->next++;
        if ((uint64_t)number >= b->args->n_pos)
            return qr_jinja_type_error(
                b->j, "Replacement index %lld out of range for positional args tuple",
                (long long)number);
        *out = b->args->pos[number];
    } else {
        size_t k = 0;
        while (k < b->args->n_kw && (b->args->kw_names[k].s->n != name.n ||
                                     memcmp(b->args->kw_names[k].s->p, name.p, name.n) != 0))
            k++;
        if (k == b->args->n_kw)
            return qr_jinja_type_error(b->j, "'%.*s'", name.n > 60 ? 60 : (int)name.n, name.p);
        *out = b->args->kw_values[k];
    }
    while (i < f->n) {
        const bool attr = f->p[i++] == '.';
        const size_t from = i;
        while (i < f->n && (attr ? f->p[i] != '.' && f->p[i] != '[' : f->p[i] != ']'))
            i++;
        if (i == from && (attr || i < f->n))
            return qr_jinja_type_error(b->j, "Empty attribute in format string");
        if (!attr && i == f->n)
            return qr_jinja_type_error(b->j, "expected '}' before end of string");
        if (!attr && i + 1 < f->n && f->p[i + 1] != '.' && f->p[i + 1] != '[')
            return qr_jinja_type_error(b->j,
                                       "Only '.' or '[' may follow ']' in format field specifier");
        const struct qr_jinja_str part = { .p = f->p + from, .n = i - from };
        size_t used = 0;
        QR_TRY(qr_jinja_parse_width(b->j, &part, &used, &number));
        QR_TRY(qr_jinja_substr(b->j, f, from, i - from, &key));
        if (attr) {
            QR_TRY(qr_jinja_getattr(b->j, *out, key, out));
            continue;
        }
        if (used && used == part.n)
            key = qr_jinja_int(number);
        QR_TRY(qr_jinja_getitem(b->j, *out, key, out));
        i++; /* the closing bracket */
    }
    return QUIRE_OK;
}

/* Formats a field, given without its braces: name!conversion:spec. */
static quire_status format_field(struct formatter *b, const struct qr_jinja_str *f)
{
    size_t name_end = 0;
    char conversion = 0;
    bool in_item = false;
    struct qr_jinja_value name, spec, v;
    for (; name_end < f->n; name_end++) {
        const char c = f->p[name_end];
        if (!in_item && (c == '!' || c == ':'))
            break;
        in_item = c == '[' || (in_item && c != ']');
    }
    size_t rest = name_end;
    if (rest + 1 < f->n && f->p[rest] == '!') {
        conversion = f->p[rest + 1];
        rest += 2;
    }
    if (rest < f->n && f->p[rest] == ':')
        rest++;
    else if (rest < f->n)
        return qr_jinja_type_error(b->j, "expected ':' after conversion specifier");
    QR_TRY(qr_jinja_substr(b->j, f, 0, name_end, &name));
    QR_TRY(qr_jinja_substr(b->j, f, rest, f->n - rest, &spec));
    QR_TRY(field_value(b, name.s, &v));
    if (memchr(spec.s->p, '{', spec.s->n))
        return qr_jinja_fail(b->j, QUIRE_E_UNSUPPORTED,
                             "template: nested fields in str.format are not supported");
    if (conversion == 'r' || conversion == 's') {
        struct qr_jinja_sb sb;
        qr_jinja_sb_init(&sb, b->j);
        QR_TRY(conversion == 'r' ? qr_jinja_print_repr(&sb, v) : qr_jinja_print_str(&sb, v));
        QR_TRY(qr_jinja_sb_finish(&sb, &v));
    } else if (conversion) {
        return qr_jinja_type_error(b->j, "Unknown conversion specifier '%c'", conversion);
    }
    return format_value(b, v, spec.s);
}

quire_status qr_jinja_str_format(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out)
{
    struct formatter b = { .j = j, .args = args };
    struct qr_jinja_value field;
    size_t from = 0;
    qr_jinja_sb_init(&b.sb, j);
    for (size_t i = 0; i < fmt->n; i++) {
        const char c = fmt->p[i];
        if (c != '{' && c != '}')
            continue;
        QR_TRY(qr_jinja_charge(j, 1));
        QR_TRY(qr_jinja_sb_append_range(&b.sb, fmt, from, i - from));
        if (i + 1 < fmt->n && fmt->p[i + 1] == c) { /* an escaped brace */
            from = ++i;
            continue;
        }
        if (c == '}')
            return qr_jinja_type_error(j, "Single '}' encountered in format string");
        const char *close = memchr(fmt->p + i, '}', fmt->n - i);
        if (!close)
            return qr_jinja_type_error(j, "expected '}' before end of string");
        const size_t end = (size_t)(close - fmt->p);
        QR_TRY(qr_jinja_substr(j, fmt, i + 1, end - i - 1, &field));
        QR_TRY(format_field(&b, field.s));
        i = end;
        from = end + 1;
    }
    QR_TRY(qr_jinja_sb_append_range(&b.sb, fmt, from, fmt->n - from));
    return qr_jinja_sb_finish(&b.sb, out);
}
