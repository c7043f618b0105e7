/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - regular expressions and formats of strings. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_PATTERN_H
#define QR_GRAMMAR_JSON_SCHEMA_PATTERN_H
#include "grammar/json_schema/types.h"

/* Sets `strings` and `raw` of *out to the strings in which a pattern matches somewhere.
 *  at, keyword  place of the pattern, for messages
 * False and a failure. */
bool qr_schema_pattern(struct qr_schema *s, const struct qr_json *at, const char *keyword,
                       const char *pattern, struct qr_value_set *out);

/* The same for the strings of a format: all strings if it is no known one. */
bool qr_schema_format(struct qr_schema *s, const struct qr_json *at, const char *name,
                      struct qr_value_set *out);

#endif
