/* SPDX-License-Identifier: Apache-2.0 */
/* json_value.c - converts JSON and host strings to values of the template language. */
#include "chat_format/json_value.h"
#include "base/error.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include "json/parse.h"
#include <math.h>
#include <string.h>

quire_status qr_chat_value_from_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                     struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    size_t bad;
    QR_TRY(qr_jinja_charge_bytes(j, n));
    if (qr_jinja_utf8_valid(p, n, &bad))
        return qr_jinja_str_borrow(j, p, n, tainted, out);
    qr_jinja_sb_init(&sb, j);
    for (size_t from = 0;;) {
        const bool valid = qr_jinja_utf8_valid(p + from, n - from, &bad);
        QR_TRY(qr_jinja_sb_append(&sb, p + from, valid ? n - from : bad, tainted));
        if (valid)
            return qr_jinja_sb_finish(&sb, out);
        QR_TRY(qr_jinja_sb_append_char(&sb, 0xFFFD, tainted));
        from += bad + 1;
    }
}

/* Copies a string of a document, which is freed before the render. */
static quire_status copy_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                              struct qr_jinja_value *out)
{
    QR_TRY(qr_jinja_charge_bytes(j, n));
    char *copy = qr_jinja_alloc(j, n + 1, 1);
    if (!copy) {
        QR_INVARIANT(j->status != QUIRE_OK);
        return j->status;
    }
    memcpy(copy, p, n);
    return qr_jinja_str_borrow(j, copy, n, tainted, out);
}

static quire_status convert(struct qr_jinja *j, const struct qr_json *v, bool tainted,
                            struct qr_jinja_value *out);

/* The last of equal keys determines the value, the first one the position. */
static quire_status convert_object(struct qr_jinja *j, const struct qr_json *v, bool tainted,
                                   struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(qr_jinja_dict_new(j, &d));
    *out = qr_jinja_dict_value(d);
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
        struct qr_jinja_value key, value;
        QR_TRY(copy_text(j, i.key, strlen(i.key), tainted, &key));
        QR_TRY(convert(j, i.value, tainted, &value));
        QR_TRY(qr_jinja_dict_set(j, d, key, value));
    }
    return QUIRE_OK;
}

static quire_status convert_number(struct qr_jinja *j, const struct qr_json *v,
                                   struct qr_jinja_value *out)
{
    if (qr_json_is_integer(v)) {
        *out = qr_jinja_int(qr_json_integer(v));
        return QUIRE_OK;
    }
    const double number = qr_json_number(v);
    *out = qr_jinja_float(number);
    return isfinite(number) ? QUIRE_OK : qr_jinja_fail(j, QUIRE_E_RANGE, "a number is too large");
}

/* The parser bounds the recursion. */
static quire_status convert(struct qr_jinja *j, const struct qr_json *v, bool tainted,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_charge(j, 1));
    if (qr_json_is_object(v))
        return convert_object(j, v, tainted, out);
    if (qr_json_is_string(v))
        return copy_text(j, qr_json_string(v), qr_json_string_size(v), tainted, out);
    if (qr_json_is_number(v))
        return convert_number(j, v, out);
    if (qr_json_is_array(v)) {
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, qr_json_size(v), &l));
        *out = qr_jinja_list_value(l);
        for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);)
            QR_TRY(convert(j, i.value, tainted, &l->items[i.index]));
        return QUIRE_OK;
    }
    *out = qr_json_is_bool(v) ? qr_jinja_bool(qr_json_is_true(v)) : qr_jinja_none();
    return QUIRE_OK;
}

quire_status qr_chat_value_from_json(struct qr_jinja *j, const char *json, const char *what,
                                     bool tainted, struct qr_jinja_value *out)
{
    struct qr_json_error e;
    struct qr_json *root =
        qr_json_parse(json, strlen(json), QR_JSON_ALLOW_DUPLICATES, j->arena.allocator, &e);
    if (!root)
        return qr_jinja_fail(j, e.code, "%s: %s (line %u, byte %zu)", what, e.text, e.line,
                             e.offset);
    const quire_status status = convert(j, root, tainted, out);
    qr_json_free(root);
    return status;
}

quire_status qr_chat_object_from_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                                      struct qr_jinja_value *out)
{
    struct qr_json_error e;
    *out = qr_jinja_none();
    /* parsing takes time, also of texts that are no JSON in the end */
    QR_TRY(qr_jinja_charge_bytes(j, n));
    struct qr_json *root = qr_json_parse(p, n, QR_JSON_ALLOW_DUPLICATES, j->arena.allocator, &e);
    if (!root)
        return e.code == QUIRE_E_NOMEM ? qr_jinja_fail(j, e.code, "%s", e.text) : QUIRE_OK;
    const quire_status status = qr_json_is_object(root) ? convert(j, root, tainted, out) : QUIRE_OK;
    qr_json_free(root);
    return status;
}
