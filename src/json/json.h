/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - values of a parsed JSON document. */
#ifndef QR_JSON_JSON_H
#define QR_JSON_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node of the index of a document, made by qr_json_parse (json/parse.h). Nodes stand in the order
 * of the text: a member's key, then its value; a container, then its contents. An array or object
 * with contents takes two nodes: the second has `up`, the number of nodes up to its end.
 *
 * The strings of the text are unescaped in place and NUL-terminated. All functions accept NULL,
 * which stands for a missing value. */
struct qr_json {
    uint32_t at; /* bytes from this node to the first character of the value; or `up` */
};

bool qr_json_is_object(const struct qr_json *v);
bool qr_json_is_array(const struct qr_json *v);
bool qr_json_is_string(const struct qr_json *v);
bool qr_json_is_number(const struct qr_json *v);
/* A number of 64 bits with sign, written without fraction and exponent. */
bool qr_json_is_integer(const struct qr_json *v);
bool qr_json_is_bool(const struct qr_json *v);
bool qr_json_is_true(const struct qr_json *v);
bool qr_json_is_null(const struct qr_json *v); /* false for a missing value */

/* The UTF-8 text of a string, without NUL bytes; NULL for other values. Owned by the document. */
const char *qr_json_string(const struct qr_json *v);
/* Its size in bytes; 0 for other values. Computed by strlen. */
size_t qr_json_string_size(const struct qr_json *v);
/* The value of an integer; 0 for other values. */
int64_t qr_json_integer(const struct qr_json *v);
/* The value of a number, correctly rounded, infinite beyond the range; 0 for other values. */
double qr_json_number(const struct qr_json *v);

/* The value of a key, or NULL. Time is linear in the number of members. With duplicate keys, which
 * only QR_JSON_ALLOW_DUPLICATES admits, the last one. */
const struct qr_json *qr_json_get(const struct qr_json *object, const char *key);

/* The same with the first n bytes of `key`. */
const struct qr_json *qr_json_get_n(const struct qr_json *object, const char *key, size_t n);

/* Iterates over the elements of an array or the members of an object, in the order of the text:
 *     for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);)
 * Other values have no elements. */
struct qr_json_iter {
    const struct qr_json *value;
    const char *key; /* of a member; NULL in arrays */
    size_t index;
    const struct qr_json *next_, *end_;
    bool object_;
};
struct qr_json_iter qr_json_iterate(const struct qr_json *v);
bool qr_json_next(struct qr_json_iter *i);

/* Number of elements or members. This and qr_json_at take time linear in it. */
size_t qr_json_size(const struct qr_json *v);
const struct qr_json *qr_json_at(const struct qr_json *array, size_t index);

/* Whether both values are the same: numbers by value, objects in any order of their members. False
 * for missing values. Time is linear but for objects, whose members are searched. */
bool qr_json_equal(const struct qr_json *a, const struct qr_json *b);

/* Writes s as a quoted JSON string, without a terminator, and returns its size, at most
 * QR_JSON_QUOTED_MAX(n). s must be UTF-8. */
#define QR_JSON_QUOTED_MAX(n) (6 * (n) + 2)
size_t qr_json_quote(char *out, const char *s, size_t n);

#endif
