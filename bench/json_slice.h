/* SPDX-License-Identifier: Apache-2.0 */
/* json_slice.h - walks over JSON text by its values, as slices of the text: numbers and the order
 * of members stay as they are written. */
#ifndef QUIRE_BENCH_JSON_SLICE_H
#define QUIRE_BENCH_JSON_SLICE_H
#include <stdbool.h>
#include <stddef.h>

struct json_slice {
    const char *text;
    size_t size;
};

/* The value that a text begins with, without white space around it. False: malformed. */
bool json_slice_value(const char *text, size_t size, struct json_slice *out);

/* Iterates over an array or object: *at begins as 0. key: NULL, or receives the key with its
 * quotes. False: no more elements. */
bool json_slice_next(const struct json_slice *container, size_t *at, struct json_slice *key,
                     struct json_slice *value);

/* The value of a key that has no escapes. False: not there. */
bool json_slice_get(const struct json_slice *object, const char *key, struct json_slice *out);

/* Whether a slice is this text, e.g. true. */
bool json_slice_is(const struct json_slice *v, const char *text);

/* A string's characters in UTF-8, NUL-terminated; "" for other values. Freed by the caller; NULL:
 * no memory. */
char *json_slice_string(const struct json_slice *v);

/* The value as a model would write it: ", " and ": " as separators (compact: "," and ":"),
 * characters of strings unescaped where JSON allows it. Freed by the caller; NULL: no memory. */
char *json_slice_write(const struct json_slice *v, bool compact, size_t *size);

#endif
