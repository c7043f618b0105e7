/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.h - expressions to value sets. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_NORMALIZE_H
#define QR_GRAMMAR_JSON_SCHEMA_NORMALIZE_H
#include "grammar/json_schema/types.h"

/* The value set of an expression, computed once. NULL and a failure, with QUIRE_E_UNSUPPORTED where
 * it cannot be expressed exactly. */
const struct qr_value_set *qr_normalize(struct qr_schema *s, qr_expr id);

/* Whether it is certain that no value is in the set. A failure to express the set is no failure of
 * the compilation. */
bool qr_expr_is_none(struct qr_schema *s, qr_expr e);

#endif
