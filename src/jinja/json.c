/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_json.c - values to JSON text, as Python's json.dumps writes it. */
#include "jinja/call.h"
#include <math.h>

struct writer {
    struct qr_j *j;
    const struct qr_j_json_style *style;
    struct qr_j_sb sb;
    struct qr_j_str indent; /* of one level; p is NULL when everything goes on one line */
    struct qr_j_str item_sep, key_sep;
};

static quire_status put_u_escape(struct writer *w, uint32_t cp, bool user)
{
    static const char hex[] = "0123456789abcdef";
    char buf[6] = { '\\', 'u' };
    for (int i = 5; i >= 2; i--, cp >>= 4)
        buf[i] = hex[cp & 15];
    return qr_j_sb_add(&w->sb, buf, 6, user);
}

/* The escape is as much the caller's data as the character was. */
static quire_status put_escaped(struct writer *w, uint32_t cp, bool user)
{
    static const char plain[] = "\"\\\n\r\t\f\b", letters[] = "\"\\nrtfb";
    const char *at = cp && cp < 0x80 ? strchr(plain, (int)cp) : NULL;
    if (at)
        return qr_j_sb_add(&w->sb, (const char[]){ '\\', letters[at - plain] }, 2, user);
    if (cp < 0x10000)
        return put_u_escape(w, cp, user);
    QR_TRY(put_u_escape(w, 0xD800 + ((cp - 0x10000) >> 10), user));
    return put_u_escape(w, 0xDC00 + ((cp - 0x10000) & 0x3FF), user);
}

static quire_status put_string(struct writer *w, const struct qr_j_str *s)
{
    size_t from = 0;
    QR_TRY(qr_j_sb_addz(&w->sb, "\""));
    for (size_t i = 0, len; i < s->n; i += len) {
        len = qr_j_char_len(s->p[i]);
        const uint32_t cp = qr_j_decode(s->p + i);
        if (cp >= 0x20 && cp != '"' && cp != '\\' && !(w->style->ascii && cp >= 0x7F))
            continue;
        QR_TRY(qr_j_sb_part(&w->sb, s, from, i - from));
        QR_TRY(put_escaped(w, cp, qr_j_byte_user(s, i)));
        from = i + len;
    }
    QR_TRY(qr_j_sb_part(&w->sb, s, from, s->n - from));
    return qr_j_sb_addz(&w->sb, "\"");
}

static quire_status put_float(struct writer *w, double f)
{
    if (isnan(f))
        return qr_j_sb_addz(&w->sb, "NaN");
    if (isinf(f))
        return qr_j_sb_addz(&w->sb, f < 0 ? "-Infinity" : "Infinity");
    return qr_j_sb_repr(&w->sb, qr_j_float(f));
}

static quire_status put_newline(struct writer *w, size_t depth)
{
    if (!w->indent.p)
        return QUIRE_OK;
    QR_TRY(qr_j_sb_addz(&w->sb, "\n"));
    for (size_t i = 0; i < depth; i++)
        QR_TRY(qr_j_sb_str(&w->sb, &w->indent));
    return QUIRE_OK;
}

static quire_status put_value(struct writer *w, struct qr_j_value v, size_t depth);

/* Keys that are no strings become the text of their JSON. */
static quire_status put_key(struct writer *w, struct qr_j_value key)
{
    switch (key.type) {
    case QR_J_STR:
        return put_string(w, key.s);
    case QR_J_NONE:
    case QR_J_BOOL:
    case QR_J_INT:
    case QR_J_FLOAT:
        QR_TRY(qr_j_sb_addz(&w->sb, "\""));
        QR_TRY(put_value(w, key, 0));
        return qr_j_sb_addz(&w->sb, "\"");
    default:
        return qr_j_type_error(w->j, "keys must be str, int, float, bool or None, not %s",
                               qr_j_type_name(key));
    }
}

/* An empty list stays on one line in every style. */
static quire_status put_list(struct writer *w, const struct qr_j_list *l, size_t depth)
{
    if (!l->n)
        return qr_j_sb_addz(&w->sb, "[]");
    QR_TRY(qr_j_sb_addz(&w->sb, "["));
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            QR_TRY(qr_j_sb_str(&w->sb, &w->item_sep));
        QR_TRY(put_newline(w, depth + 1));
        QR_TRY(put_value(w, l->items[i], depth + 1));
    }
    QR_TRY(put_newline(w, depth));
    return qr_j_sb_addz(&w->sb, "]");
}

/* The entries' order: that of insertion, or sorted by key. */
static quire_status entry_order(struct writer *w, const struct qr_j_dict *d,
                                struct qr_j_value **out)
{
    struct qr_j_value *keys;
    QR_TRY(qr_j_step(w->j, d->n));
    QR_J_NEW(w->j, *out, d->n);
    for (size_t i = 0; i < d->n; i++)
        (*out)[i] = qr_j_int((int64_t)i);
    if (!w->style->sort_keys)
        return QUIRE_OK;
    QR_J_NEW(w->j, keys, d->n);
    for (size_t i = 0; i < d->n; i++)
        keys[i] = d->entries[i].key;
    return qr_j_sort(w->j, *out, keys, d->n, false);
}

static quire_status put_dict(struct writer *w, const struct qr_j_dict *d, size_t depth)
{
    struct qr_j_value *order;
    if (!d->n)
        return qr_j_sb_addz(&w->sb, "{}");
    QR_TRY(entry_order(w, d, &order));
    QR_TRY(qr_j_sb_addz(&w->sb, "{"));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_j_entry *e = &d->entries[order[i].i];
        if (i)
            QR_TRY(qr_j_sb_str(&w->sb, &w->item_sep));
        QR_TRY(put_newline(w, depth + 1));
        QR_TRY(put_key(w, e->key));
        QR_TRY(qr_j_sb_str(&w->sb, &w->key_sep));
        QR_TRY(put_value(w, e->value, depth + 1));
    }
    QR_TRY(put_newline(w, depth));
    return qr_j_sb_addz(&w->sb, "}");
}

static quire_status put_value(struct writer *w, struct qr_j_value v, size_t depth)
{
    quire_status status;
    QR_TRY(qr_j_step(w->j, 1));
    QR_TRY(qr_j_enter(w->j));
    switch (v.type) {
    case QR_J_NONE:
        status = qr_j_sb_addz(&w->sb, "null");
        break;
    case QR_J_BOOL:
        status = qr_j_sb_addz(&w->sb, v.b ? "true" : "false");
        break;
    case QR_J_INT:
        status = qr_j_sb_int(&w->sb, v.i);
        break;
    case QR_J_FLOAT:
        status = put_float(w, v.f);
        break;
    case QR_J_STR:
        status = put_string(w, v.s);
        break;
    case QR_J_DICT:
        status = put_dict(w, v.d, depth);
        break;
    case QR_J_LIST:
        if (qr_j_is_plain_list(v) || qr_j_is_tuple(v)) {
            status = put_list(w, v.l, depth);
            break;
        }
        /* fall through */
    default:
        return qr_j_type_error(w->j, "Object of type %s is not JSON serializable",
                               qr_j_type_name(v));
    }
    qr_j_leave(w->j);
    return status;
}

static quire_status separators(struct writer *w)
{
    const struct qr_j_str *s;
    const char *item = w->indent.p ? "," : ", ";
    w->item_sep = (struct qr_j_str){ .p = item, .n = strlen(item) };
    w->key_sep = (struct qr_j_str){ .p = ": ", .n = 2 };
    if (qr_j_given(w->style->item_sep)) {
        QR_TRY(qr_j_want_str(w->j, w->style->item_sep, &s));
        w->item_sep = *s;
    }
    if (qr_j_given(w->style->key_sep)) {
        QR_TRY(qr_j_want_str(w->j, w->style->key_sep, &s));
        w->key_sep = *s;
    }
    return QUIRE_OK;
}

quire_status qr_j_to_json(struct qr_j *j, struct qr_j_value v, const struct qr_j_json_style *style,
                          struct qr_j_value *out)
{
    struct writer w = { .j = j, .style = style };
    struct qr_j_value unit;
    qr_j_sb_init(&w.sb, j);
    if (style->indent.type == QR_J_STR) {
        w.indent = *style->indent.s;
    } else if (qr_j_given(style->indent) && style->indent.type != QR_J_NONE) {
        int64_t width;
        QR_TRY(qr_j_want_int(j, style->indent, &width));
        QR_TRY(qr_j_textz(j, " ", &unit));
        QR_TRY(qr_j_repeat(j, unit.s, width, &unit));
        w.indent = *unit.s;
    }
    QR_TRY(separators(&w));
    QR_TRY(put_value(&w, v, 0));
    return qr_j_sb_done(&w.sb, out);
}
