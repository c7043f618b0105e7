/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_meta.c - typed access to GGUF metadata values and arrays. */
#include "format/gguf_meta.h"
#include "base/error.h"
#include "format/types.h"
#include <string.h>

const char *qr_gguf_key_name(const void *meta, uint32_t i, size_t *len)
{
    const struct qr_gguf_meta *m = meta;
    *len = m->kv[i].key_len;
    return (const char *)m->header + m->kv[i].key_at;
}

const struct qr_gguf_kv *qr_gguf_meta_find(const struct qr_gguf_meta *m, const char *key)
{
    uint32_t i;
    return qr_name_index_find(&m->index, m, qr_gguf_key_name, key, strlen(key), &i) ? &m->kv[i]
                                                                                    : NULL;
}

bool qr_gguf_has(const struct qr_gguf *g, const char *key)
{
    return qr_gguf_meta_find(&g->meta, key) != NULL;
}

bool qr_gguf_value_type(const struct qr_gguf *g, const char *key, enum qr_gguf_type *out)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (kv)
        *out = (enum qr_gguf_type)kv->type;
    return kv != NULL;
}

size_t qr_gguf_key_count(const struct qr_gguf *g) { return g->meta.n_kv; }

struct qr_gguf_str qr_gguf_key(const struct qr_gguf *g, size_t i)
{
    struct qr_gguf_str s = { NULL, 0 };
    if (i < g->meta.n_kv)
        s.data = qr_gguf_key_name(&g->meta, (uint32_t)i, &s.size);
    return s;
}

const uint8_t *qr_gguf_key_bytes(const struct qr_gguf *g, size_t i, size_t *size)
{
    enum { LENGTH = 8 };
    const struct qr_gguf_meta *m = &g->meta;
    const size_t begin = m->kv[i].key_at - LENGTH,
                 end = i + 1 < m->n_kv ? m->kv[i + 1].key_at - LENGTH : m->kv_end;
    *size = end - begin;
    return m->header + begin;
}

bool qr_gguf_find_key(const struct qr_gguf *g, const char *key, size_t *i)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (kv)
        *i = (size_t)(kv - g->meta.kv);
    return kv != NULL;
}

/* ---- Decoding of values. The parse has checked that they lie inside the header. */

#define LOAD(type, p)                                                                              \
    ({                                                                                             \
        type value_;                                                                               \
        memcpy(&value_, p, sizeof value_);                                                         \
        value_;                                                                                    \
    })

/* Decodes any integer type as sign and magnitude, which covers both u64 and i64. */
static bool load_int(uint32_t type, const uint8_t *p, bool *negative, uint64_t *magnitude)
{
    int64_t v = 0;
    switch (type) {
    case QR_GGUF_U8:
        v = *p;
        break;
    case QR_GGUF_I8:
        v = (int64_t)LOAD(int8_t, p);
        break;
    case QR_GGUF_U16:
        v = LOAD(uint16_t, p);
        break;
    case QR_GGUF_I16:
        v = LOAD(int16_t, p);
        break;
    case QR_GGUF_U32:
        v = LOAD(uint32_t, p);
        break;
    case QR_GGUF_I32:
        v = LOAD(int32_t, p);
        break;
    case QR_GGUF_I64:
        v = LOAD(int64_t, p);
        break;
    case QR_GGUF_U64:
        *negative = false;
        *magnitude = LOAD(uint64_t, p);
        return true;
    default:
        return false;
    }
    *negative = v < 0;
    *magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    return true;
}

static bool load_i64(uint32_t type, const uint8_t *p, int64_t *out)
{
    bool negative;
    uint64_t magnitude;
    if (!load_int(type, p, &negative, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static bool load_f32(uint32_t type, const uint8_t *p, float *out)
{
    if (type == QR_GGUF_F32)
        *out = LOAD(float, p);
    else if (type == QR_GGUF_F64)
        *out = (float)LOAD(double, p);
    else
        return false;
    return true;
}

/* ---- Getters */

static quire_status absent(const char *key, struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_FORMAT, "metadata key %s is missing", key);
}

static quire_status wrong_type(const struct qr_gguf_kv *kv, const char *key, const char *expected,
                               struct quire_error *err)
{
    return qr_fail_at(err, QUIRE_E_FORMAT, kv->value_at,
                      "metadata key %s has type %s, %s expected (at byte %u)", key,
                      qr_gguf_value_name(kv->type), expected, kv->value_at);
}

static quire_status uint_value(const struct qr_gguf_meta *m, const struct qr_gguf_kv *kv,
                               const char *key, uint64_t max, uint64_t *out,
                               struct quire_error *err)
{
    bool negative;
    uint64_t v;
    if (!load_int(kv->type, m->header + kv->value_at, &negative, &v))
        return wrong_type(kv, key, "an integer", err);
    if (negative || v > max)
        return qr_fail_at(err, QUIRE_E_FORMAT, kv->value_at,
                          "metadata key %s is %s%llu, outside 0..%llu", key, negative ? "-" : "",
                          (unsigned long long)v, (unsigned long long)max);
    *out = v;
    return QUIRE_OK;
}

quire_status qr_gguf_meta_u32_or(const struct qr_gguf_meta *m, const char *key, uint32_t dflt,
                                 uint32_t *out, struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(m, key);
    uint64_t v = dflt;
    if (kv)
        QR_TRY(uint_value(m, kv, key, UINT32_MAX, &v, err));
    *out = (uint32_t)v;
    return QUIRE_OK;
}

quire_status qr_gguf_get_u32_or(const struct qr_gguf *g, const char *key, uint32_t dflt,
                                uint32_t *out, struct quire_error *err)
{
    return qr_gguf_meta_u32_or(&g->meta, key, dflt, out, err);
}

quire_status qr_gguf_get_f32_or(const struct qr_gguf *g, const char *key, float dflt, float *out,
                                struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (!kv)
        *out = dflt;
    else if (!load_f32(kv->type, g->meta.header + kv->value_at, out))
        return wrong_type(kv, key, "f32", err);
    return QUIRE_OK;
}

quire_status qr_gguf_get_bool_or(const struct qr_gguf *g, const char *key, bool dflt, bool *out,
                                 struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (kv && kv->type != QR_GGUF_BOOL)
        return wrong_type(kv, key, "bool", err);
    *out = kv ? g->meta.header[kv->value_at] != 0 : dflt;
    return QUIRE_OK;
}

quire_status qr_gguf_get_str_or(const struct qr_gguf *g, const char *key, const char *dflt,
                                struct qr_gguf_str *out, struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (!kv) {
        *out = (struct qr_gguf_str){ dflt, dflt ? strlen(dflt) : 0 };
        return QUIRE_OK;
    }
    if (kv->type != QR_GGUF_STRING)
        return wrong_type(kv, key, "string", err);
    const uint8_t *p = g->meta.header + kv->value_at;
    *out = (struct qr_gguf_str){ (const char *)p + 8, (size_t)LOAD(uint64_t, p) };
    return QUIRE_OK;
}

quire_status qr_gguf_get_u64(const struct qr_gguf *g, const char *key, uint64_t *out,
                             struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    return kv ? uint_value(&g->meta, kv, key, UINT64_MAX, out, err) : absent(key, err);
}

quire_status qr_gguf_get_i64(const struct qr_gguf *g, const char *key, int64_t *out,
                             struct quire_error *err)
{
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(&g->meta, key);
    if (!kv)
        return absent(key, err);
    return load_i64(kv->type, g->meta.header + kv->value_at, out) ? QUIRE_OK
                                                                  : wrong_type(kv, key, "i64", err);
}

quire_status qr_gguf_get_u32(const struct qr_gguf *g, const char *key, uint32_t *out,
                             struct quire_error *err)
{
    return qr_gguf_has(g, key) ? qr_gguf_get_u32_or(g, key, 0, out, err) : absent(key, err);
}

quire_status qr_gguf_get_f32(const struct qr_gguf *g, const char *key, float *out,
                             struct quire_error *err)
{
    return qr_gguf_has(g, key) ? qr_gguf_get_f32_or(g, key, 0, out, err) : absent(key, err);
}

quire_status qr_gguf_get_bool(const struct qr_gguf *g, const char *key, bool *out,
                              struct quire_error *err)
{
    return qr_gguf_has(g, key) ? qr_gguf_get_bool_or(g, key, false, out, err) : absent(key, err);
}

quire_status qr_gguf_get_str(const struct qr_gguf *g, const char *key, struct qr_gguf_str *out,
                             struct quire_error *err)
{
    return qr_gguf_has(g, key) ? qr_gguf_get_str_or(g, key, NULL, out, err) : absent(key, err);
}

/* ---- Arrays */

quire_status qr_gguf_get_array(const struct qr_gguf *g, const char *key, struct qr_gguf_array *out,
                               struct quire_error *err)
{
    const struct qr_gguf_meta *m = &g->meta;
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(m, key);
    if (!kv)
        return absent(key, err);
    if (kv->type != QR_GGUF_ARRAY)
        return wrong_type(kv, key, "array", err);
    *out = (struct qr_gguf_array){
        .type = (enum qr_gguf_type)kv->elem,
        .count = (size_t)LOAD(uint64_t, m->header + kv->value_at - 8),
        .data = m->header + kv->value_at,
        .base = m->header,
        .string_at = kv->elem == QR_GGUF_STRING ? m->string_at + kv->strings : NULL,
    };
    return QUIRE_OK;
}

static const uint8_t *element(const struct qr_gguf_array *arr, size_t i)
{
    return arr->data + i * qr_gguf_value_bytes(arr->type);
}

bool qr_gguf_array_str(const struct qr_gguf_array *arr, size_t i, struct qr_gguf_str *out)
{
    if (i >= arr->count || arr->type != QR_GGUF_STRING)
        return false;
    const uint8_t *p = arr->base + arr->string_at[i];
    *out = (struct qr_gguf_str){ (const char *)p, (size_t)LOAD(uint64_t, p - 8) };
    return true;
}

bool qr_gguf_array_i64(const struct qr_gguf_array *arr, size_t i, int64_t *out)
{
    return i < arr->count && load_i64(arr->type, element(arr, i), out);
}

bool qr_gguf_array_f32(const struct qr_gguf_array *arr, size_t i, float *out)
{
    return i < arr->count && load_f32(arr->type, element(arr, i), out);
}

bool qr_gguf_array_bool(const struct qr_gguf_array *arr, size_t i, bool *out)
{
    if (i >= arr->count || arr->type != QR_GGUF_BOOL)
        return false;
    *out = *element(arr, i) != 0;
    return true;
}
