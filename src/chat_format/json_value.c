/* SPDX-License-Identifier: Apache-2.0 */
/* json_value.c - converts JSON and host strings to values of the template language. */
#include "chat_format/json_value.h"
#include "base/error.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <jansson.h>
#include <string.h>

enum { MAX_JSON_DEPTH = 64 };

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

/* Limits the nesting before Jansson parses recursively. Ignores brackets inside strings. */
static quire_status check_depth(struct qr_jinja *j, const char *json, const char *what)
{
    size_t depth = 0;
    bool in_string = false;
    for (const char *p = json; *p; p++) {
        if (in_string) {
            if (*p == '\\' && p[1])
                p++;
            else if (*p == '"')
                in_string = false;
        } else if (*p == '"') {
            in_string = true;
        } else if (*p == '[' || *p == '{') {
            if (++depth > MAX_JSON_DEPTH)
                return qr_jinja_fail(j, QUIRE_E_FORMAT, "%s: nested deeper than %d at offset %zu",
                                     what, MAX_JSON_DEPTH, (size_t)(p - json));
        } else if ((*p == ']' || *p == '}') && depth > 0) {
            depth--;
        }
    }
    return QUIRE_OK;
}

/* Copies a string of a Jansson document, which is freed before the render. */
static quire_status copy_text(struct qr_jinja *j, const char *p, size_t n, bool tainted,
                              struct qr_jinja_value *out)
{
    QR_TRY(qr_jinja_charge_bytes(j, n));
    char *copy = qr_jinja_alloc(j, n + 1, 1);
    if (!copy)
        return j->status;
    memcpy(copy, p, n);
    return qr_jinja_str_borrow(j, copy, n, tainted, out);
}

static quire_status convert(struct qr_jinja *j, const json_t *v, bool tainted,
                            struct qr_jinja_value *out);

/* The last of equal keys determines the value, the first one the position. */
static quire_status convert_object(struct qr_jinja *j, const json_t *v, bool tainted,
                                   struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    QR_TRY(qr_jinja_dict_new(j, &d));
    *out = qr_jinja_dict_value(d);
    /* Jansson iterates in insertion order. Its iterator takes a non-const pointer but does not
     * modify. */
    json_t *object = (json_t *)v;
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *name = json_object_iter_key(it);
        struct qr_jinja_value key, value;
        QR_TRY(copy_text(j, name, strlen(name), tainted, &key));
        QR_TRY(convert(j, json_object_iter_value(it), tainted, &value));
        QR_TRY(qr_jinja_dict_set(j, d, key, value));
    }
    return QUIRE_OK;
}

/* check_depth bounds the recursion. */
static quire_status convert(struct qr_jinja *j, const json_t *v, bool tainted,
                            struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    QR_TRY(qr_jinja_charge(j, 1));
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return convert_object(j, v, tainted, out);
    case JSON_ARRAY:
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, json_array_size(v), &l));
        *out = qr_jinja_list_value(l);
        for (size_t i = 0; i < l->n; i++)
            QR_TRY(convert(j, json_array_get(v, i), tainted, &l->items[i]));
        return QUIRE_OK;
    case JSON_STRING:
        return copy_text(j, json_string_value(v), json_string_length(v), tainted, out);
    case JSON_INTEGER:
        *out = qr_jinja_int(json_integer_value(v));
        return QUIRE_OK;
    case JSON_REAL:
        *out = qr_jinja_float(json_real_value(v));
        return QUIRE_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = qr_jinja_bool(json_is_true(v));
        return QUIRE_OK;
    default:
        *out = qr_jinja_none();
        return QUIRE_OK;
    }
}

quire_status qr_chat_value_from_json(struct qr_jinja *j, const char *json, const char *what,
                                     bool tainted, struct qr_jinja_value *out)
{
    json_error_t error;
    QR_TRY(check_depth(j, json, what));
    json_t *root = json_loads(json, JSON_DECODE_ANY, &error);
    if (!root) {
        const enum json_error_code code = json_error_code(&error);
        const quire_status status = code == json_error_out_of_memory      ? QUIRE_E_NOMEM
                                    : code == json_error_numeric_overflow ? QUIRE_E_RANGE
                                                                          : QUIRE_E_FORMAT;
        return qr_jinja_fail(j, status, "%s: %s (line %d, offset %d)", what, error.text, error.line,
                             error.position);
    }
    const quire_status status = convert(j, root, tainted, out);
    json_decref(root);
    return status;
}
