/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_string.h - the keywords of strings. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_STRING_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_STRING_H
#include "grammar/json_schema/keywords.h"

/* Sets the strings of *out to those that satisfy the keywords of a schema about strings.
 * False and a failure. */
bool qr_keywords_string(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out);

#endif
