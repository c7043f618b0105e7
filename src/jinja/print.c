/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_print.c - str() and repr() of values, as Python prints them. */
#include "jinja/call.h"
#include "jinja/text.h"

/* \x, \u or \U, whichever is the shortest that fits. */
static quire_status repr_escape(struct qr_j_sb *sb, uint32_t cp, bool user)
{
    static const char hex[] = "0123456789abcdef";
    char buf[10] = { '\\' };
    int digits = cp > 0xFFFF ? 8 : cp > 0xFF ? 4 : 2;
    const size_t n = 2 + (size_t)digits;
    buf[1] = cp > 0xFFFF ? 'U' : cp > 0xFF ? 'u' : 'x';
    for (size_t i = n; digits-- > 0; cp >>= 4)
        buf[--i] = hex[cp & 15];
    return qr_j_sb_add(sb, buf, n, user);
}

/* Python prefers single quotes and switches only when that saves escapes. */
static quire_status repr_str(struct qr_j_sb *sb, const struct qr_j_str *s)
{
    const bool single = memchr(s->p, '\'', s->n) && !memchr(s->p, '"', s->n);
    const char quote = single ? '"' : '\'';
    if (s->safe)
        QR_TRY(qr_j_sb_addz(sb, "Markup("));
    QR_TRY(qr_j_sb_add(sb, &quote, 1, false));
    size_t from = 0; /* start of the stretch that is copied as it is */
    for (size_t i = 0, len; i < s->n; i += len) {
        len = qr_j_char_len(s->p[i]);
        const uint32_t cp = qr_j_decode(s->p + i);
        const char simple = cp == '\n'                   ? 'n'
                            : cp == '\r'                 ? 'r'
                            : cp == '\t'                 ? 't'
                            : cp == '\\'                 ? '\\'
                            : cp == (unsigned char)quote ? quote
                                                         : 0;
        if (!simple && qr_j_is_printable(cp))
            continue;
        const bool user = qr_j_byte_user(s, i);
        QR_TRY(qr_j_sb_part(sb, s, from, i - from));
        if (simple)
            QR_TRY(qr_j_sb_add(sb, (const char[]){ '\\', simple }, 2, user));
        else
            QR_TRY(repr_escape(sb, cp, user));
        from = i + len;
    }
    QR_TRY(qr_j_sb_part(sb, s, from, s->n - from));
    QR_TRY(qr_j_sb_add(sb, &quote, 1, false));
    return s->safe ? qr_j_sb_addz(sb, ")") : QUIRE_OK;
}

static quire_status repr_items(struct qr_j_sb *sb, const struct qr_j_list *l, const char *open,
                               const char *close)
{
    QR_TRY(qr_j_sb_addz(sb, open));
    for (size_t i = 0; i < l->n; i++) {
        QR_TRY(qr_j_step(sb->j, 1));
        if (i)
            QR_TRY(qr_j_sb_addz(sb, ", "));
        QR_TRY(qr_j_sb_repr(sb, l->items[i]));
    }
    return qr_j_sb_addz(sb, close);
}

static quire_status repr_list(struct qr_j_sb *sb, const struct qr_j_list *l)
{
    switch (l->flavor) {
    case QR_J_TUPLE:
    case QR_J_GROUP:
        return repr_items(sb, l, "(", l->n == 1 ? ",)" : ")");
    case QR_J_KEYS:
        return repr_items(sb, l, "dict_keys([", "])");
    case QR_J_VALUES:
        return repr_items(sb, l, "dict_values([", "])");
    case QR_J_ITEMS:
        return repr_items(sb, l, "dict_items([", "])");
    case QR_J_GENERATOR:
        return qr_j_sb_addz(sb, "<generator object>"); /* Python adds an address here */
    default:
        return repr_items(sb, l, "[", "]");
    }
}

static quire_status repr_dict(struct qr_j_sb *sb, const struct qr_j_dict *d)
{
    QR_TRY(qr_j_sb_addz(sb, "{"));
    for (size_t i = 0; i < d->n; i++) {
        QR_TRY(qr_j_step(sb->j, 1));
        if (i)
            QR_TRY(qr_j_sb_addz(sb, ", "));
        QR_TRY(qr_j_sb_repr(sb, d->entries[i].key));
        QR_TRY(qr_j_sb_addz(sb, ": "));
        QR_TRY(qr_j_sb_repr(sb, d->entries[i].value));
    }
    return qr_j_sb_addz(sb, "}");
}

static quire_status repr_range(struct qr_j_sb *sb, const struct qr_j_range *r)
{
    QR_TRY(qr_j_sb_addz(sb, "range("));
    QR_TRY(qr_j_sb_int(sb, r->start));
    QR_TRY(qr_j_sb_addz(sb, ", "));
    QR_TRY(qr_j_sb_int(sb, r->stop));
    if (r->step != 1) {
        QR_TRY(qr_j_sb_addz(sb, ", "));
        QR_TRY(qr_j_sb_int(sb, r->step));
    }
    return qr_j_sb_addz(sb, ")");
}

/* Things that only a debugging template prints. */
static quire_status repr_object(struct qr_j_sb *sb, struct qr_j_value v)
{
    switch (v.type) {
    case QR_J_NAMESPACE:
        QR_TRY(qr_j_sb_addz(sb, "<Namespace "));
        QR_TRY(repr_dict(sb, v.d));
        break;
    case QR_J_MACRO:
        QR_TRY(qr_j_sb_addz(sb, "<Macro "));
        if (v.macro->name.type == QR_J_STR)
            QR_TRY(qr_j_sb_repr(sb, v.macro->name));
        else
            QR_TRY(qr_j_sb_addz(sb, "anonymous"));
        break;
    case QR_J_LOOP:
        QR_TRY(qr_j_sb_addz(sb, "<LoopContext "));
        QR_TRY(qr_j_sb_int(sb, (int64_t)v.loop->index0 + 1));
        QR_TRY(qr_j_sb_addz(sb, "/"));
        QR_TRY(qr_j_sb_int(sb, (int64_t)v.loop->n));
        break;
    case QR_J_METHOD:
        QR_TRY(qr_j_sb_addz(sb, "<built-in method "));
        QR_TRY(qr_j_sb_addz(sb, v.m->fn->name));
        QR_TRY(qr_j_sb_addz(sb, " of "));
        QR_TRY(qr_j_sb_addz(sb, qr_j_type_name(v.m->self)));
        QR_TRY(qr_j_sb_addz(sb, " object"));
        break;
    case QR_J_FUNCTION:
        QR_TRY(qr_j_sb_addz(sb, "<function "));
        QR_TRY(qr_j_sb_addz(sb, v.fn->name));
        break;
    default:
        QR_TRY(qr_j_sb_addz(sb, "<"));
        QR_TRY(qr_j_sb_addz(sb, qr_j_type_name(v)));
        QR_TRY(qr_j_sb_addz(sb, " object"));
        break;
    }
    return qr_j_sb_addz(sb, ">");
}

static quire_status print_float(struct qr_j_sb *sb, double f)
{
    char buf[QR_J_NUMBER_MAX];
    QR_TRY(qr_j_step(sb->j, 10)); /* the digits are computed the slow way */
    return qr_j_sb_add(sb, buf, qr_j_float_repr(f, buf), false);
}

quire_status qr_j_sb_repr(struct qr_j_sb *sb, struct qr_j_value v)
{
    quire_status status;
    QR_TRY(qr_j_enter(sb->j));
    switch (v.type) {
    case QR_J_MISSING:
    case QR_J_UNDEFINED:
        status = qr_j_sb_addz(sb, "Undefined");
        break;
    case QR_J_NONE:
        status = qr_j_sb_addz(sb, "None");
        break;
    case QR_J_BOOL:
        status = qr_j_sb_addz(sb, v.b ? "True" : "False");
        break;
    case QR_J_INT:
        status = qr_j_sb_int(sb, v.i);
        break;
    case QR_J_FLOAT:
        status = print_float(sb, v.f);
        break;
    case QR_J_STR:
        status = repr_str(sb, v.s);
        break;
    case QR_J_LIST:
        status = repr_list(sb, v.l);
        break;
    case QR_J_DICT:
        status = repr_dict(sb, v.d);
        break;
    case QR_J_RANGE:
        status = repr_range(sb, v.r);
        break;
    default:
        status = repr_object(sb, v);
        break;
    }
    qr_j_leave(sb->j);
    return status;
}

quire_status qr_j_sb_value(struct qr_j_sb *sb, struct qr_j_value v)
{
    if (v.type == QR_J_STR)
        return qr_j_sb_str(sb, v.s);
    if (v.type == QR_J_UNDEFINED)
        return QUIRE_OK;
    return qr_j_sb_repr(sb, v);
}

quire_status qr_j_to_str(struct qr_j *j, struct qr_j_value v, const struct qr_j_str **out)
{
    struct qr_j_sb sb;
    if (v.type != QR_J_STR) {
        qr_j_sb_init(&sb, j);
        QR_TRY(qr_j_sb_value(&sb, v));
        QR_TRY(qr_j_sb_done(&sb, &v));
    }
    *out = v.s;
    return QUIRE_OK;
}
