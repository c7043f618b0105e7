/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_array.h - the keywords of arrays. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_ARRAY_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_ARRAY_H
#include "grammar/json_schema/keywords.h"

/* Sets the arrays of *out to those that satisfy the keywords of a schema about arrays.
 * False and a failure. */
bool qr_keywords_array(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out);

#endif
