/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - regular expressions and formats of strings. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_PATTERN_H
#define QR_GRAMMAR_JSON_SCHEMA_PATTERN_H
#include "grammar/json_schema/types.h"

/* The contents of JSON strings in which a pattern matches somewhere.
 *  at, keyword  place of the pattern, for messages
 * False and a failure. */
bool qr_schema_pattern(struct qr_schema *s, const struct qr_json *at, const char *keyword,
                       const char *pattern, qr_regex *out);

#endif
