/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_meta.h - typed access to GGUF metadata: values, arrays, listing of the keys. */
#ifndef QR_FORMAT_GGUF_META_H
#define QR_FORMAT_GGUF_META_H
#include "format/gguf_value.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qr_gguf;

/* A string of the file: not NUL-terminated, may contain any byte. Valid until close. */
struct qr_gguf_str {
    const char *data;
    size_t size;
};

/* ---- Values. The same rules hold for all getters:
 *   integer getters accept every integer type whose value fits; f32 accepts f32 and f64; bool and
 *   str accept their own type only. Missing key or wrong type: QUIRE_E_FORMAT, the message names
 *   the key, *out is unchanged. The _or forms return the default for a missing key and fail only
 *   for a wrong type or a value out of range. */
bool qr_gguf_has(const struct qr_gguf *g, const char *key);
quire_status qr_gguf_get_u32(const struct qr_gguf *g, const char *key, uint32_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_u64(const struct qr_gguf *g, const char *key, uint64_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_i64(const struct qr_gguf *g, const char *key, int64_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_f32(const struct qr_gguf *g, const char *key, float *out,
                             struct quire_error *err);
quire_status qr_gguf_get_bool(const struct qr_gguf *g, const char *key, bool *out,
                              struct quire_error *err);
quire_status qr_gguf_get_str(const struct qr_gguf *g, const char *key, struct qr_gguf_str *out,
                             struct quire_error *err);

quire_status qr_gguf_get_u32_or(const struct qr_gguf *g, const char *key, uint32_t dflt,
                                uint32_t *out, struct quire_error *err);
quire_status qr_gguf_get_f32_or(const struct qr_gguf *g, const char *key, float dflt, float *out,
                                struct quire_error *err);
quire_status qr_gguf_get_bool_or(const struct qr_gguf *g, const char *key, bool dflt, bool *out,
                                 struct quire_error *err);
/* dflt may be NULL: a missing key then yields { NULL, 0 }. */
quire_status qr_gguf_get_str_or(const struct qr_gguf *g, const char *key, const char *dflt,
                                struct qr_gguf_str *out, struct quire_error *err);

/* Value type of a key; false if the key is missing. For keys that may hold a scalar or an array. */
bool qr_gguf_value_type(const struct qr_gguf *g, const char *key, enum qr_gguf_type *out);

/* ---- Arrays. The view is valid until close. */
struct qr_gguf_array {
    enum qr_gguf_type type; /* of the elements; never ARRAY */
    size_t count;
    /* used by the accessors below */
    const uint8_t *data;       /* the elements as stored */
    const uint8_t *base;       /* origin of string_at */
    const uint32_t *string_at; /* string arrays: offset of each string's bytes */
};
/* Missing key or not an array: QUIRE_E_FORMAT; the message names the key. */
quire_status qr_gguf_get_array(const struct qr_gguf *g, const char *key, struct qr_gguf_array *out,
                               struct quire_error *err);
/* Element i in constant time. False, with *out unchanged, if i >= count, if the element type
 * differs (i64 accepts every integer type, f32 accepts f32 and f64), or if the value does not
 * fit. */
bool qr_gguf_array_str(const struct qr_gguf_array *arr, size_t i, struct qr_gguf_str *out);
bool qr_gguf_array_i64(const struct qr_gguf_array *arr, size_t i, int64_t *out);
bool qr_gguf_array_f32(const struct qr_gguf_array *arr, size_t i, float *out);
bool qr_gguf_array_bool(const struct qr_gguf_array *arr, size_t i, bool *out);

/* ---- Listing: keys 0 .. count - 1 in file order. */
size_t qr_gguf_key_count(const struct qr_gguf *g);
struct qr_gguf_str qr_gguf_key(const struct qr_gguf *g, size_t i);
/* Key i as it is in the file: length and bytes of its name, type, value. Valid until close. */
const uint8_t *qr_gguf_key_bytes(const struct qr_gguf *g, size_t i, size_t *size);
/* Number of a key; false, with *i unchanged, if the file has no such key. */
bool qr_gguf_find_key(const struct qr_gguf *g, const char *key, size_t *i);

/* ---- For the reader itself: metadata of one shard, before the handle exists. */
struct qr_gguf_meta;
/* Name of key i; a qr_name_fn on a struct qr_gguf_meta. */
const char *qr_gguf_key_name(const void *meta, uint32_t i, size_t *len);
const struct qr_gguf_kv *qr_gguf_meta_find(const struct qr_gguf_meta *meta, const char *key);
quire_status qr_gguf_meta_u32_or(const struct qr_gguf_meta *meta, const char *key, uint32_t dflt,
                                 uint32_t *out, struct quire_error *err);

#endif
