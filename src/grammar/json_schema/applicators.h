/* SPDX-License-Identifier: Apache-2.0 */
/* applicators.h - keywords that apply subschemas to the same value. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_APPLICATORS_H
#define QR_GRAMMAR_JSON_SCHEMA_APPLICATORS_H
#include "grammar/json_schema/keywords.h"

/* allOf, anyOf, oneOf, if, not. Each reduces *set to its values that satisfy the keyword. False and
 * a failure. */
bool qr_apply_subschemas(struct qr_schema *s, const struct qr_keywords *k,
                         struct qr_value_set *set);

#endif
