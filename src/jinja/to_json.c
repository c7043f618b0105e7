/* SPDX-License-Identifier: Apache-2.0 */
/* to_json.c - serializes values as Python's json.dumps does. */
#include "jinja/to_json.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/interp.h"
#include "jinja/print.h"
#include "jinja/sort.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <math.h>
#include <string.h>

struct writer {
    struct qr_jinja *j;
    const struct qr_jinja_json_options *options;
    struct qr_jinja_sb sb;
    struct qr_jinja_str indent; /* of one level; p == NULL: one line */
    struct qr_jinja_str item_sep, key_sep;
};

static quire_status put_u_escape(struct writer *w, uint32_t cp, bool tainted)
{
    static const char hex[] = "0123456789abcdef";
    char buf[6] = { '\\', 'u' };
    for (int i = 5; i >= 2; i--, cp >>= 4)
        buf[i] = hex[cp & 15];
    return qr_jinja_sb_append(&w->sb, buf, 6, tainted);
}

/* The escape sequence inherits the taint of the character. */
static quire_status put_escaped(struct writer *w, uint32_t cp, bool tainted)
{
    static const char plain[] = "\"\\\n\r\t\f\b", letters[] = "\"\\nrtfb";
    const char *at = cp && cp < 0x80 ? strchr(plain, (int)cp) : NULL;
    if (at)
        return qr_jinja_sb_append(&w->sb, (const char[]){ '\\', letters[at - plain] }, 2, tainted);
    if (cp < 0x10000)
        return put_u_escape(w, cp, tainted);
    QR_TRY(put_u_escape(w, 0xD800 + ((cp - 0x10000) >> 10), tainted));
    return put_u_escape(w, 0xDC00 + ((cp - 0x10000) & 0x3FF), tainted);
}

static quire_status put_string(struct writer *w, const struct qr_jinja_str *s)
{
    size_t from = 0;
    QR_TRY(qr_jinja_sb_append_literal(&w->sb, "\""));
    for (size_t i = 0, len; i < s->n; i += len) {
        len = qr_jinja_utf8_len(s->p[i]);
        const uint32_t cp = qr_jinja_utf8_decode(s->p + i);
        if (cp >= 0x20 && cp != '"' && cp != '\\' && !(w->options->ascii && cp >= 0x7F))
            continue;
        QR_TRY(qr_jinja_sb_append_range(&w->sb, s, from, i - from));
        QR_TRY(put_escaped(w, cp, qr_jinja_byte_tainted(s, i)));
        from = i + len;
    }
    QR_TRY(qr_jinja_sb_append_range(&w->sb, s, from, s->n - from));
    return qr_jinja_sb_append_literal(&w->sb, "\"");
}

static quire_status put_float(struct writer *w, double f)
{
    if (isnan(f))
        return qr_jinja_sb_append_literal(&w->sb, "NaN");
    if (isinf(f))
        return qr_jinja_sb_append_literal(&w->sb, f < 0 ? "-Infinity" : "Infinity");
    return qr_jinja_print_repr(&w->sb, qr_jinja_float(f));
}

static quire_status put_newline(struct writer *w, size_t depth)
{
    if (!w->indent.p)
        return QUIRE_OK;
    QR_TRY(qr_jinja_sb_append_literal(&w->sb, "\n"));
    for (size_t i = 0; i < depth; i++)
        QR_TRY(qr_jinja_sb_append_str(&w->sb, &w->indent));
    return QUIRE_OK;
}

static quire_status put_value(struct writer *w, struct qr_jinja_value v, size_t depth);

/* Keys that are not strings are written as strings of their JSON. */
static quire_status put_key(struct writer *w, struct qr_jinja_value key)
{
    switch (key.type) {
    case QR_JINJA_STR:
        return put_string(w, key.s);
    case QR_JINJA_NONE:
    case QR_JINJA_BOOL:
    case QR_JINJA_INT:
    case QR_JINJA_FLOAT:
        QR_TRY(qr_jinja_sb_append_literal(&w->sb, "\""));
        QR_TRY(put_value(w, key, 0));
        return qr_jinja_sb_append_literal(&w->sb, "\"");
    default:
        return qr_jinja_type_error(w->j, "keys must be str, int, float, bool or None, not %s",
                                   qr_jinja_type_name(key));
    }
}

/* An empty list is written without newlines, whatever the indent. */
static quire_status put_list(struct writer *w, const struct qr_jinja_list *l, size_t depth)
{
    if (!l->n)
        return qr_jinja_sb_append_literal(&w->sb, "[]");
    QR_TRY(qr_jinja_sb_append_literal(&w->sb, "["));
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            QR_TRY(qr_jinja_sb_append_str(&w->sb, &w->item_sep));
        QR_TRY(put_newline(w, depth + 1));
        QR_TRY(put_value(w, l->items[i], depth + 1));
    }
    QR_TRY(put_newline(w, depth));
    return qr_jinja_sb_append_literal(&w->sb, "]");
}

/* Order of the entries, as indices: insertion order, or sorted by key. */
static quire_status entry_order(struct writer *w, const struct qr_jinja_dict *d,
                                struct qr_jinja_value **out)
{
    struct qr_jinja_value *keys;
    QR_TRY(qr_jinja_charge(w->j, d->n));
    QR_JINJA_NEW(w->j, *out, d->n);
    for (size_t i = 0; i < d->n; i++)
        (*out)[i] = qr_jinja_int((int64_t)i);
    if (!w->options->sort_keys)
        return QUIRE_OK;
    QR_JINJA_NEW(w->j, keys, d->n);
    for (size_t i = 0; i < d->n; i++)
        keys[i] = d->entries[i].key;
    return qr_jinja_sort(w->j, *out, keys, d->n, false);
}

static quire_status put_dict(struct writer *w, const struct qr_jinja_dict *d, size_t depth)
{
    struct qr_jinja_value *order;
    if (!d->n)
        return qr_jinja_sb_append_literal(&w->sb, "{}");
    QR_TRY(entry_order(w, d, &order));
    QR_TRY(qr_jinja_sb_append_literal(&w->sb, "{"));
    for (size_t i = 0; i < d->n; i++) {
        const struct qr_jinja_entry *e = &d->entries[order[i].i];
        if (i)
            QR_TRY(qr_jinja_sb_append_str(&w->sb, &w->item_sep));
        QR_TRY(put_newline(w, depth + 1));
        QR_TRY(put_key(w, e->key));
        QR_TRY(qr_jinja_sb_append_str(&w->sb, &w->key_sep));
        QR_TRY(put_value(w, e->value, depth + 1));
    }
    QR_TRY(put_newline(w, depth));
    return qr_jinja_sb_append_literal(&w->sb, "}");
}

static quire_status put_value(struct writer *w, struct qr_jinja_value v, size_t depth)
{
    quire_status status;
    QR_TRY(qr_jinja_charge(w->j, 1));
    QR_TRY(qr_jinja_enter(w->j));
    switch (v.type) {
    case QR_JINJA_NONE:
        status = qr_jinja_sb_append_literal(&w->sb, "null");
        break;
    case QR_JINJA_BOOL:
        status = qr_jinja_sb_append_literal(&w->sb, v.b ? "true" : "false");
        break;
    case QR_JINJA_INT:
        status = qr_jinja_sb_append_int(&w->sb, v.i);
        break;
    case QR_JINJA_FLOAT:
        status = put_float(w, v.f);
        break;
    case QR_JINJA_STR:
        status = put_string(w, v.s);
        break;
    case QR_JINJA_DICT:
        status = put_dict(w, v.d, depth);
        break;
    case QR_JINJA_LIST:
        if (qr_jinja_is_plain_list(v) || qr_jinja_is_tuple(v)) {
            status = put_list(w, v.l, depth);
            break;
        }
        /* fall through */
    default:
        return qr_jinja_type_error(w->j, "Object of type %s is not JSON serializable",
                                   qr_jinja_type_name(v));
    }
    qr_jinja_leave(w->j);
    return status;
}

static quire_status separators(struct writer *w)
{
    const struct qr_jinja_str *s;
    const char *item = w->indent.p ? "," : ", ";
    w->item_sep = (struct qr_jinja_str){ .p = item, .n = strlen(item) };
    w->key_sep = (struct qr_jinja_str){ .p = ": ", .n = 2 };
    if (qr_jinja_is_given(w->options->item_sep)) {
        QR_TRY(qr_jinja_expect_str(w->j, w->options->item_sep, &s));
        w->item_sep = *s;
    }
    if (qr_jinja_is_given(w->options->key_sep)) {
        QR_TRY(qr_jinja_expect_str(w->j, w->options->key_sep, &s));
        w->key_sep = *s;
    }
    return QUIRE_OK;
}

quire_status qr_jinja_to_json(struct qr_jinja *j, struct qr_jinja_value v,
                              const struct qr_jinja_json_options *options,
                              struct qr_jinja_value *out)
{
    struct writer w = { .j = j, .options = options };
    struct qr_jinja_value unit;
    qr_jinja_sb_init(&w.sb, j);
    if (options->indent.type == QR_JINJA_STR) {
        w.indent = *options->indent.s;
    } else if (qr_jinja_is_given(options->indent) && options->indent.type != QR_JINJA_NONE) {
        int64_t width;
        QR_TRY(qr_jinja_expect_int(j, options->indent, &width));
        QR_TRY(qr_jinja_str_literal(j, " ", &unit));
        QR_TRY(qr_jinja_str_repeat(j, unit.s, width, &unit));
        w.indent = *unit.s;
    }
    QR_TRY(separators(&w));
    QR_TRY(put_value(&w, v, 0));
    return qr_jinja_sb_finish(&w.sb, out);
}
