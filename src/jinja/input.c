/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_input.c - makes values from the caller's JSON and strings. */
#include "jinja/input.h"
#include "jinja/text.h"
#include <jansson.h>

quire_status qr_j_from_text(struct qr_j *j, const char *p, size_t n, bool user,
                            struct qr_j_value *out)
{
    struct qr_j_sb sb;
    size_t bad;
    QR_TRY(qr_j_work(j, n));
    if (qr_j_valid_utf8(p, n, &bad))
        return qr_j_text(j, p, n, user, out);
    qr_j_sb_init(&sb, j);
    for (size_t from = 0;;) {
        const bool whole = qr_j_valid_utf8(p + from, n - from, &bad);
        QR_TRY(qr_j_sb_add(&sb, p + from, whole ? n - from : bad, user));
        if (whole)
            return qr_j_sb_done(&sb, out);
        QR_TRY(qr_j_sb_char(&sb, 0xFFFD, user));
        from += bad + 1;
    }
}

quire_status qr_j_role(struct qr_j *j, struct qr_j_value role, struct qr_j_value *out)
{
    *out = role;
    if (role.type != QR_J_STR || role.s->n == 0 || role.s->n > 64)
        return QUIRE_OK;
    for (size_t i = 0; i < role.s->n; i++) {
        const char c = role.s->p[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!plain)
            return QUIRE_OK;
    }
    return qr_j_text(j, role.s->p, role.s->n, false, out);
}

/* Refuses deep nesting before the parser recurses into it. Brackets inside strings do not count. */
static quire_status check_depth(struct qr_j *j, const char *json, const char *what)
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
            if (++depth > QR_J_MAX_JSON_DEPTH)
                return qr_j_fail(j, QUIRE_E_FORMAT, "%s: nested deeper than %d at offset %zu", what,
                                 QR_J_MAX_JSON_DEPTH, (size_t)(p - json));
        } else if ((*p == ']' || *p == '}') && depth > 0) {
            depth--;
        }
    }
    return QUIRE_OK;
}

/* Jansson's copy goes away before the render begins. */
static quire_status copy_text(struct qr_j *j, const char *p, size_t n, bool user,
                              struct qr_j_value *out)
{
    QR_TRY(qr_j_work(j, n));
    char *copy = qr_j_alloc(j, n + 1, 1);
    if (!copy)
        return j->status;
    memcpy(copy, p, n);
    return qr_j_text(j, copy, n, user, out);
}

static quire_status convert(struct qr_j *j, const json_t *v, bool user, struct qr_j_value *out);

/* The last of equal keys wins, at the place of the first. */
static quire_status convert_object(struct qr_j *j, const json_t *v, bool user,
                                   struct qr_j_value *out)
{
    struct qr_j_dict *d;
    QR_TRY(qr_j_dict_new(j, &d));
    *out = qr_j_dict_value(d);
    /* Jansson iterates in insertion order; it takes a pointer without const but changes nothing */
    json_t *object = (json_t *)v;
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *name = json_object_iter_key(it);
        struct qr_j_value key, value;
        QR_TRY(copy_text(j, name, strlen(name), user, &key));
        QR_TRY(convert(j, json_object_iter_value(it), user, &value));
        QR_TRY(qr_j_dict_set(j, d, key, value));
    }
    return QUIRE_OK;
}

/* Recursion is bounded by check_depth. */
static quire_status convert(struct qr_j *j, const json_t *v, bool user, struct qr_j_value *out)
{
    struct qr_j_list *l;
    QR_TRY(qr_j_step(j, 1));
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return convert_object(j, v, user, out);
    case JSON_ARRAY:
        QR_TRY(qr_j_list_new(j, QR_J_PLAIN, json_array_size(v), &l));
        *out = qr_j_list_value(l);
        for (size_t i = 0; i < l->n; i++)
            QR_TRY(convert(j, json_array_get(v, i), user, &l->items[i]));
        return QUIRE_OK;
    case JSON_STRING:
        return copy_text(j, json_string_value(v), json_string_length(v), user, out);
    case JSON_INTEGER:
        *out = qr_j_int(json_integer_value(v));
        return QUIRE_OK;
    case JSON_REAL:
        *out = qr_j_float(json_real_value(v));
        return QUIRE_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = qr_j_bool(json_is_true(v));
        return QUIRE_OK;
    default:
        *out = qr_j_none();
        return QUIRE_OK;
    }
}

quire_status qr_j_from_json(struct qr_j *j, const char *json, const char *what, bool user,
                            struct qr_j_value *out)
{
    json_error_t error;
    QR_TRY(check_depth(j, json, what));
    json_t *root = json_loads(json, JSON_DECODE_ANY, &error);
    if (!root) {
        const enum json_error_code code = json_error_code(&error);
        const quire_status status = code == json_error_out_of_memory      ? QUIRE_E_NOMEM
                                    : code == json_error_numeric_overflow ? QUIRE_E_RANGE
                                                                          : QUIRE_E_FORMAT;
        return qr_j_fail(j, status, "%s: %s (line %d, offset %d)", what, error.text, error.line,
                         error.position);
    }
    const quire_status status = convert(j, root, user, out);
    json_decref(root);
    return status;
}
