/* SPDX-License-Identifier: Apache-2.0 */
/* unevaluated.h - unevaluatedProperties and unevaluatedItems. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_UNEVALUATED_H
#define QR_GRAMMAR_JSON_SCHEMA_UNEVALUATED_H
#include "grammar/json_schema/keywords.h"

/* Records in the alternatives which keys and items the schema's own keywords evaluate. */
bool qr_mark_evaluated(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *set);

/* Reduces *set to its values that satisfy the two keywords, given what other keywords of the schema
 * evaluated. False and a failure. */
bool qr_apply_unevaluated(struct qr_schema *s, const struct qr_keywords *k,
                          struct qr_value_set *set);

#endif
