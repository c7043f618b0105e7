/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.h - contents of JSON strings, without the quotes, as expressions over bytes.
 *
 * Which encodings are accepted: U+0020 .. U+007F as themselves, only `"` and `\` as \" and \\; the
 * control characters with a short escape by that escape only (\b \f \n \r \t), the others as \u00XX
 * with hexadecimal digits of either case; characters from U+0080 raw or as \uXXXX, pairs of
 * surrogates included. Lone surrogates and \/ are not accepted. ASCII text has exactly one
 * encoding, so that keys are forced; and the expression of a set of strings always has all accepted
 * encodings of each, so that complement and intersection are those of the strings. */
#ifndef QR_GRAMMAR_REGEX_JSON_STRING_H
#define QR_GRAMMAR_REGEX_JSON_STRING_H
#include "grammar/regex/regex_set.h"

/* Inclusive range of code points. */
struct qr_char_range {
    uint32_t first, last;
};

/* One character of sorted, disjoint ranges, in UTF-8. Surrogates are left out. */
qr_regex qr_utf8_class(struct qr_regex_set *set, const struct qr_char_range *ranges, size_t n);
/* One character of the ranges, in the encodings above. */
qr_regex qr_json_class(struct qr_regex_set *set, const struct qr_char_range *ranges, size_t n);
/* Any character; any string of min .. max characters (code points). */
qr_regex qr_json_any_char(struct qr_regex_set *set);
qr_regex qr_json_any_string(struct qr_regex_set *set, uint32_t min, uint32_t max);
/* The string `text` of `size` bytes of UTF-8. */
qr_regex qr_json_literal(struct qr_regex_set *set, const char *text, size_t size);

#endif
