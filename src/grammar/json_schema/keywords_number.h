/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_number.h - the keywords of numbers. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_NUMBER_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_NUMBER_H
#include "grammar/json_schema/keywords.h"

/* Sets the numbers of *out to those that satisfy the keywords of a schema about numbers.
 *  integers  numbers must be integers: the type
 * False and a failure. */
bool qr_keywords_number(struct qr_schema *s, const struct qr_keywords *k, bool integers,
                        struct qr_value_set *out);

#endif
