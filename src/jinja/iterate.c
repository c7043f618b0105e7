/* SPDX-License-Identifier: Apache-2.0 */
/* iterate.c - length and iteration of values, by Python's rules. */
#include "jinja/iterate.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/unicode.h"
#include "jinja/value.h"

quire_status qr_jinja_length(struct qr_jinja *j, struct qr_jinja_value v, int64_t *out)
{
    switch (v.type) {
    case QR_JINJA_UNDEFINED:
        *out = 0;
        return QUIRE_OK;
    case QR_JINJA_STR:
        QR_TRY(qr_jinja_charge_bytes(j, v.s->n));
        *out = (int64_t)qr_jinja_utf8_count(v.s->p, v.s->n);
        return QUIRE_OK;
    case QR_JINJA_DICT:
        *out = (int64_t)v.d->n;
        return QUIRE_OK;
    case QR_JINJA_RANGE:
        *out = v.r->n;
        return QUIRE_OK;
    case QR_JINJA_LOOP:
        *out = (int64_t)v.loop->n;
        return QUIRE_OK;
    case QR_JINJA_LIST:
        if (v.l->kind != QR_JINJA_LIST_GENERATOR) {
            *out = (int64_t)v.l->n;
            return QUIRE_OK;
        }
        break;
    default:
        break;
    }
    return qr_jinja_type_error(j, "object of type '%s' has no len()", qr_jinja_type_name(v));
}

bool qr_jinja_is_iterable(struct qr_jinja_value v)
{
    return v.type == QR_JINJA_UNDEFINED || v.type == QR_JINJA_STR || v.type == QR_JINJA_LIST ||
           v.type == QR_JINJA_DICT || v.type == QR_JINJA_RANGE || v.type == QR_JINJA_LOOP;
}

static quire_status new_items(struct qr_jinja *j, size_t n, struct qr_jinja_list *out)
{
    QR_TRY(qr_jinja_charge(j, n));
    QR_JINJA_NEW(j, out->items, n);
    out->n = n;
    return QUIRE_OK;
}

/* Iterating over a string yields its characters. */
static quire_status iterate_chars(struct qr_jinja *j, const struct qr_jinja_str *s,
                                  struct qr_jinja_list *out)
{
    QR_TRY(new_items(j, qr_jinja_utf8_count(s->p, s->n), out));
    for (size_t i = 0, off = 0; i < out->n; i++) {
        const size_t len = qr_jinja_utf8_len(s->p[off]);
        QR_TRY(qr_jinja_substr(j, s, off, len, &out->items[i]));
        off += len;
    }
    return QUIRE_OK;
}

/* Materializes a list: loops need the length, and values cannot change meanwhile. */
quire_status qr_jinja_iterate(struct qr_jinja *j, struct qr_jinja_value v,
                              struct qr_jinja_list *out)
{
    *out = (struct qr_jinja_list){ .kind = QR_JINJA_LIST_PLAIN };
    switch (v.type) {
    case QR_JINJA_UNDEFINED:
        return QUIRE_OK;
    case QR_JINJA_STR:
        return iterate_chars(j, v.s, out);
    case QR_JINJA_DICT:
        QR_TRY(new_items(j, v.d->n, out));
        for (size_t i = 0; i < out->n; i++)
            out->items[i] = v.d->entries[i].key;
        return QUIRE_OK;
    case QR_JINJA_RANGE:
        QR_TRY(new_items(j, (size_t)v.r->n, out));
        for (size_t i = 0; i < out->n; i++)
            out->items[i] = qr_jinja_int(qr_jinja_range_at(v.r, (int64_t)i));
        return QUIRE_OK;
    case QR_JINJA_LIST:
        out->items = v.l->consumed ? v.l->items + v.l->consumed : v.l->items;
        out->n = v.l->n - v.l->consumed;
        if (v.l->kind == QR_JINJA_LIST_GENERATOR)
            v.l->consumed = v.l->n;
        return QUIRE_OK;
    default:
        return qr_jinja_type_error(j, "'%s' object is not iterable", qr_jinja_type_name(v));
    }
}
