/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - str() and repr() of values, as Python prints them. */
#include "jinja/print.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

/* The shortest of \x, \u and \U that fits cp. */
static quire_status repr_escape(struct qr_jinja_sb *sb, uint32_t cp, bool tainted)
{
    static const char hex[] = "0123456789abcdef";
    char buf[10] = { '\\' };
    int digits = cp > 0xFFFF ? 8 : cp > 0xFF ? 4 : 2;
    const size_t n = 2 + (size_t)digits;
    buf[1] = cp > 0xFFFF ? 'U' : cp > 0xFF ? 'u' : 'x';
    for (size_t i = n; digits-- > 0; cp >>= 4)
        buf[--i] = hex[cp & 15];
    return qr_jinja_sb_append(sb, buf, n, tainted);
}

/* Single quotes, unless s contains single and no double quotes. */
static quire_status repr_str(struct qr_jinja_sb *sb, const struct qr_jinja_str *s)
{
    const bool use_double = memchr(s->p, '\'', s->n) && !memchr(s->p, '"', s->n);
    const char quote = use_double ? '"' : '\'';
    if (s->safe)
        QR_TRY(qr_jinja_sb_append_literal(sb, "Markup("));
    QR_TRY(qr_jinja_sb_append(sb, &quote, 1, false));
    size_t from = 0; /* start of the bytes not copied yet */
    for (size_t i = 0, len; i < s->n; i += len) {
        len = qr_jinja_utf8_len(s->p[i]);
        const uint32_t cp = qr_jinja_utf8_decode(s->p + i);
        /* between double quotes there are only single ones */
        const char simple = cp == '\n'                  ? 'n'
                            : cp == '\r'                ? 'r'
                            : cp == '\t'                ? 't'
                            : cp == '\\'                ? '\\'
                            : cp == '\'' && !use_double ? '\''
                                                        : 0;
        if (!simple && qr_jinja_is_printable(cp))
            continue;
        const bool tainted = qr_jinja_byte_tainted(s, i);
        QR_TRY(qr_jinja_sb_append_range(sb, s, from, i - from));
        if (simple)
            QR_TRY(qr_jinja_sb_append(sb, (const char[]){ '\\', simple }, 2, tainted));
        else
            QR_TRY(repr_escape(sb, cp, tainted));
        from = i + len;
    }
    QR_TRY(qr_jinja_sb_append_range(sb, s, from, s->n - from));
    QR_TRY(qr_jinja_sb_append(sb, &quote, 1, false));
    return s->safe ? qr_jinja_sb_append_literal(sb, ")") : QUIRE_OK;
}

static quire_status repr_items(struct qr_jinja_sb *sb, const struct qr_jinja_list *l,
                               const char *open, const char *close)
{
    QR_TRY(qr_jinja_sb_append_literal(sb, open));
    for (size_t i = 0; i < l->n; i++) {
        QR_TRY(qr_jinja_charge(sb->j, 1));
        if (i)
            QR_TRY(qr_jinja_sb_append_literal(sb, ", "));
        QR_TRY(qr_jinja_print_repr(sb, l->items[i]));
    }
    return qr_jinja_sb_append_literal(sb, close);
}

static quire_status repr_list(struct qr_jinja_sb *sb, const struct qr_jinja_list *l)
{
    switch (l->kind) {
    case QR_JINJA_LIST_TUPLE:
    case QR_JINJA_LIST_GROUP:
        return repr_items(sb, l, "(", l->n == 1 ? ",)" : ")");
    case QR_JINJA_LIST_KEYS:
        return repr_items(sb, l, "dict_keys([", "])");
    case QR_JINJA_LIST_VALUES:
        return repr_items(sb, l, "dict_values([", "])");
    case QR_JINJA_LIST_ITEMS:
        return repr_items(sb, l, "dict_items([", "])");
    case QR_JINJA_LIST_GENERATOR:
        return qr_jinja_sb_append_literal(
            sb, "<generator object>"); /* Python prints an address as well */
    default:
        return repr_items(sb, l, "[", "]");
    }
}

static quire_status repr_dict(struct qr_jinja_sb *sb, const struct qr_jinja_dict *d)
{
    QR_TRY(qr_jinja_sb_append_literal(sb, "{"));
    for (size_t i = 0; i < d->n; i++) {
        QR_TRY(qr_jinja_charge(sb->j, 1));
        if (i)
            QR_TRY(qr_jinja_sb_append_literal(sb, ", "));
        QR_TRY(qr_jinja_print_repr(sb, d->entries[i].key));
        QR_TRY(qr_jinja_sb_append_literal(sb, ": "));
        QR_TRY(qr_jinja_print_repr(sb, d->entries[i].value));
    }
    return qr_jinja_sb_append_literal(sb, "}");
}

static quire_status repr_range(struct qr_jinja_sb *sb, const struct qr_jinja_range *r)
{
    QR_TRY(qr_jinja_sb_append_literal(sb, "range("));
    QR_TRY(qr_jinja_sb_append_int(sb, r->start));
    QR_TRY(qr_jinja_sb_append_literal(sb, ", "));
    QR_TRY(qr_jinja_sb_append_int(sb, r->stop));
    if (r->step != 1) {
        QR_TRY(qr_jinja_sb_append_literal(sb, ", "));
        QR_TRY(qr_jinja_sb_append_int(sb, r->step));
    }
    return qr_jinja_sb_append_literal(sb, ")");
}

/* Objects without a literal form; printed only for debugging. */
static quire_status repr_object(struct qr_jinja_sb *sb, struct qr_jinja_value v)
{
    switch (v.type) {
    case QR_JINJA_NAMESPACE:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<Namespace "));
        QR_TRY(repr_dict(sb, v.d));
        break;
    case QR_JINJA_MACRO:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<Macro "));
        if (v.macro->name.type == QR_JINJA_STR)
            QR_TRY(qr_jinja_print_repr(sb, v.macro->name));
        else
            QR_TRY(qr_jinja_sb_append_literal(sb, "anonymous"));
        break;
    case QR_JINJA_LOOP:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<LoopContext "));
        QR_TRY(qr_jinja_sb_append_int(sb, (int64_t)v.loop->index0 + 1));
        QR_TRY(qr_jinja_sb_append_literal(sb, "/"));
        QR_TRY(qr_jinja_sb_append_int(sb, (int64_t)v.loop->n));
        break;
    case QR_JINJA_METHOD:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<built-in method "));
        QR_TRY(qr_jinja_sb_append_literal(sb, v.m->fn->name));
        QR_TRY(qr_jinja_sb_append_literal(sb, " of "));
        QR_TRY(qr_jinja_sb_append_literal(sb, qr_jinja_type_name(v.m->self)));
        QR_TRY(qr_jinja_sb_append_literal(sb, " object"));
        break;
    case QR_JINJA_FUNCTION:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<function "));
        QR_TRY(qr_jinja_sb_append_literal(sb, v.fn->name));
        break;
    default:
        QR_TRY(qr_jinja_sb_append_literal(sb, "<"));
        QR_TRY(qr_jinja_sb_append_literal(sb, qr_jinja_type_name(v)));
        QR_TRY(qr_jinja_sb_append_literal(sb, " object"));
        break;
    }
    return qr_jinja_sb_append_literal(sb, ">");
}

static quire_status print_float(struct qr_jinja_sb *sb, double f)
{
    char buf[QR_FLOAT_CHARS_MAX];
    QR_TRY(qr_jinja_charge(sb->j, 10)); /* conversion to decimal is slow */
    return qr_jinja_sb_append(sb, buf, qr_float_repr(f, buf), false);
}

quire_status qr_jinja_print_repr(struct qr_jinja_sb *sb, struct qr_jinja_value v)
{
    quire_status status;
    QR_TRY(qr_jinja_enter(sb->j));
    switch (v.type) {
    case QR_JINJA_MISSING:
    case QR_JINJA_UNDEFINED:
        status = qr_jinja_sb_append_literal(sb, "Undefined");
        break;
    case QR_JINJA_NONE:
        status = qr_jinja_sb_append_literal(sb, "None");
        break;
    case QR_JINJA_BOOL:
        status = qr_jinja_sb_append_literal(sb, v.b ? "True" : "False");
        break;
    case QR_JINJA_INT:
        status = qr_jinja_sb_append_int(sb, v.i);
        break;
    case QR_JINJA_FLOAT:
        status = print_float(sb, v.f);
        break;
    case QR_JINJA_STR:
        status = repr_str(sb, v.s);
        break;
    case QR_JINJA_LIST:
        status = repr_list(sb, v.l);
        break;
    case QR_JINJA_DICT:
        status = repr_dict(sb, v.d);
        break;
    case QR_JINJA_RANGE:
        status = repr_range(sb, v.r);
        break;
    default:
        status = repr_object(sb, v);
        break;
    }
    qr_jinja_leave(sb->j);
    return status;
}

quire_status qr_jinja_print_str(struct qr_jinja_sb *sb, struct qr_jinja_value v)
{
    if (v.type == QR_JINJA_STR)
        return qr_jinja_sb_append_str(sb, v.s);
    if (v.type == QR_JINJA_UNDEFINED)
        return QUIRE_OK;
    if (v.type == QR_JINJA_DICT && v.d->text)
        return qr_jinja_sb_append_str(sb, v.d->text);
    return qr_jinja_print_repr(sb, v);
}

quire_status qr_jinja_to_str(struct qr_jinja *j, struct qr_jinja_value v,
                             const struct qr_jinja_str **out)
{
    struct qr_jinja_sb sb;
    if (v.type != QR_JINJA_STR) {
        qr_jinja_sb_init(&sb, j);
        QR_TRY(qr_jinja_print_str(&sb, v));
        QR_TRY(qr_jinja_sb_finish(&sb, &v));
    }
    *out = v.s;
    return QUIRE_OK;
}
