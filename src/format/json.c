/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - the only caller of the JSON parser on untrusted text. */
#include "format/json.h"
#include "base/error.h"
#include <math.h>

/* Bounds the nesting before the recursive parser runs. Brackets inside strings do not count. */
static quire_status check_depth(const char *text, size_t size, const char *what,
                                struct quire_error *err)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > QR_JSON_MAX_DEPTH)
                return qr_fail_at(err, QUIRE_E_FORMAT, i,
                                  "%s: nested deeper than %d levels at byte %zu", what,
                                  QR_JSON_MAX_DEPTH, i);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return QUIRE_OK;
}

quire_status qr_json_parse(const char *text, size_t size, const char *what, json_t **out,
                           struct quire_error *err)
{
    *out = NULL;
    QR_TRY(check_depth(text, size, what, err));
    json_error_t e;
    json_t *j = json_loadb(text, size, 0, &e);
    if (!j) {
        if (json_error_code(&e) == json_error_out_of_memory)
            return qr_fail(err, QUIRE_E_NOMEM, "%s: no memory", what);
        return qr_fail_at(err, QUIRE_E_FORMAT, e.position > 0 ? (uint64_t)e.position : 0,
                          "%s: %s (line %d, byte %d)", what, e.text, e.line, e.position);
    }
    if (!json_is_object(j)) {
        json_decref(j);
        return qr_fail(err, QUIRE_E_FORMAT, "%s is not a JSON object", what);
    }
    *out = j;
    return QUIRE_OK;
}

bool qr_json_is_u32(const json_t *v, uint32_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
        return false;
    *out = (uint32_t)json_integer_value(v);
    return true;
}

bool qr_json_is_f64(const json_t *v, double *out)
{
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return false;
    *out = json_number_value(v);
    return true;
}

static enum qr_json_state lookup(const json_t *obj, const char *key, const json_t **v)
{
    *v = json_object_get(obj, key);
    return !*v ? QR_JSON_ABSENT : json_is_null(*v) ? QR_JSON_NULL : QR_JSON_PRESENT;
}

static quire_status wrong_type(const char *what, const char *key, const char *expected,
                               struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_FORMAT, "%s: %s must be %s", what, key, expected);
}

quire_status qr_json_u32(const json_t *obj, const char *what, const char *key, uint32_t *out,
                         enum qr_json_state *state, struct quire_error *err)
{
    const json_t *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_u32(v, out))
        return wrong_type(what, key, "an integer from 0 to 4294967295", err);
    return QUIRE_OK;
}

quire_status qr_json_f64(const json_t *obj, const char *what, const char *key, double *out,
                         enum qr_json_state *state, struct quire_error *err)
{
    const json_t *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_f64(v, out))
        return wrong_type(what, key, "a finite number", err);
    return QUIRE_OK;
}

quire_status qr_json_bool(const json_t *obj, const char *what, const char *key, bool *out,
                          enum qr_json_state *state, struct quire_error *err)
{
    const json_t *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !json_is_boolean(v))
        return wrong_type(what, key, "true or false", err);
    if (*state == QR_JSON_PRESENT)
        *out = json_is_true(v);
    return QUIRE_OK;
}

quire_status qr_json_str(const json_t *obj, const char *what, const char *key, const char **out,
                         enum qr_json_state *state, struct quire_error *err)
{
    const json_t *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !json_is_string(v))
        return wrong_type(what, key, "a string", err);
    if (*state == QR_JSON_PRESENT)
        *out = json_string_value(v);
    return QUIRE_OK;
}
