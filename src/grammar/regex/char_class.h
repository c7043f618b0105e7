/* SPDX-License-Identifier: Apache-2.0 */
/* char_class.h - sets of characters of regular expressions. */
#ifndef QR_GRAMMAR_REGEX_CHAR_CLASS_H
#define QR_GRAMMAR_REGEX_CHAR_CLASS_H
#include "base/alloc.h"
#include "grammar/regex/json_string.h"
#include <stdbool.h>

/* Ranges in any order until qr_char_set_normalize. Zero = empty; freed by qr_char_set_free. */
struct qr_char_set {
    const struct quire_allocator *a;
    struct qr_char_range *ranges;
    size_t n, capacity;
};
void qr_char_set_free(struct qr_char_set *set);

/* These return false without memory. */
bool qr_char_set_add(struct qr_char_set *set, uint32_t first, uint32_t last);
bool qr_char_set_add_set(struct qr_char_set *set, const struct qr_char_set *other);
/* Sorts and merges the ranges. */
void qr_char_set_normalize(struct qr_char_set *set);
/* Normalizes, then replaces the set by its complement. */
bool qr_char_set_negate(struct qr_char_set *set);

/* Adds \d, \w or \s as ECMA 262 defines them. */
bool qr_char_set_add_escape(struct qr_char_set *set, char letter);
/* Adds the characters of a general category by its name of `size` bytes: "L", "Lu", "Letter",
 * "Uppercase_Letter", "gc=L", "General_Category=L", "Any", "ASCII". *known is false for other
 * properties. */
bool qr_char_set_add_property(struct qr_char_set *set, const char *name, size_t size, bool *known);

#endif
