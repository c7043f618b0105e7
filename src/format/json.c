/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON objects of files: parsing and typed access with messages that name the key. */
#include "format/json.h"
#include "base/error.h"
#include <math.h>

quire_status qr_json_parse_object(const char *text, size_t size, const char *what, uint32_t flags,
                                  const struct quire_allocator *a, struct qr_json **out,
                                  struct quire_error *err)
{
    struct qr_json_error e;
    *out = NULL;
    struct qr_json *root = qr_json_parse(text, size, flags, a, &e);
    if (!root && (e.code == QUIRE_E_NOMEM || e.code == QUIRE_E_LIMIT))
        return qr_fail(err, e.code, "%s: %s", what, e.text);
    if (!root && e.line)
        return qr_fail_at(err, QUIRE_E_FORMAT, e.offset, "%s: %s (line %u, byte %zu)", what, e.text,
                          e.line, e.offset);
    if (!root)
        return qr_fail_at(err, QUIRE_E_FORMAT, e.offset, "%s: %s %s (byte %zu)", what, e.text,
                          e.key, e.offset);
    if (!qr_json_is_object(root)) {
        qr_json_free(root);
        return qr_fail(err, QUIRE_E_FORMAT, "%s is not a JSON object", what);
    }
    *out = root;
    return QUIRE_OK;
}

bool qr_json_is_u32(const struct qr_json *v, uint32_t *out)
{
    if (!qr_json_is_integer(v) || qr_json_integer(v) < 0 || qr_json_integer(v) > UINT32_MAX)
        return false;
    *out = (uint32_t)qr_json_integer(v);
    return true;
}

bool qr_json_is_f64(const struct qr_json *v, double *out)
{
    if (!qr_json_is_number(v) || !isfinite(qr_json_number(v)))
        return false;
    *out = qr_json_number(v);
    return true;
}

static enum qr_json_state lookup(const struct qr_json *obj, const char *key,
                                 const struct qr_json **v)
{
    *v = qr_json_get(obj, key);
    return !*v ? QR_JSON_ABSENT : qr_json_is_null(*v) ? QR_JSON_NULL : QR_JSON_PRESENT;
}

static quire_status wrong_type(const char *what, const char *key, const char *expected,
                               struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_FORMAT, "%s: %s must be %s", what, key, expected);
}

quire_status qr_json_u32(const struct qr_json *obj, const char *what, const char *key,
                         uint32_t *out, enum qr_json_state *state, struct quire_error *err)
{
    const struct qr_json *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_u32(v, out))
        return wrong_type(what, key, "an integer from 0 to 4294967295", err);
    return QUIRE_OK;
}

quire_status qr_json_f64(const struct qr_json *obj, const char *what, const char *key, double *out,
                         enum qr_json_state *state, struct quire_error *err)
{
    const struct qr_json *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_f64(v, out))
        return wrong_type(what, key, "a finite number", err);
    return QUIRE_OK;
}

quire_status qr_json_bool(const struct qr_json *obj, const char *what, const char *key, bool *out,
                          enum qr_json_state *state, struct quire_error *err)
{
    const struct qr_json *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_bool(v))
        return wrong_type(what, key, "true or false", err);
    if (*state == QR_JSON_PRESENT)
        *out = qr_json_is_true(v);
    return QUIRE_OK;
}

quire_status qr_json_str(const struct qr_json *obj, const char *what, const char *key,
                         const char **out, enum qr_json_state *state, struct quire_error *err)
{
    const struct qr_json *v;
    *state = lookup(obj, key, &v);
    if (*state == QR_JSON_PRESENT && !qr_json_is_string(v))
        return wrong_type(what, key, "a string", err);
    if (*state == QR_JSON_PRESENT)
        *out = qr_json_string(v);
    return QUIRE_OK;
}
