/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_object.h - the keywords of objects. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_OBJECT_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_OBJECT_H
#include "grammar/json_schema/keywords.h"

/* Sets the objects of *out to those that satisfy the keywords of a schema about objects.
 * False and a failure. */
bool qr_keywords_object(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out);

#endif
