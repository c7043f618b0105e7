/* SPDX-License-Identifier: Apache-2.0 */
/* finite.h - expressions with finitely many values. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_FINITE_H
#define QR_GRAMMAR_JSON_SCHEMA_FINITE_H
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/types.h"

/* Appends the values of an expression to *out as expressions (qr_expr) of one value each. False if
 * there are more than max, or it is not known that they are finitely many. */
bool qr_finite_values(struct qr_schema *s, qr_expr e, uint32_t max, struct qr_list *out);

/* Whether two schemas have const or enum with no value in common. False where that takes more than
 * a look at these keywords. */
bool qr_exprs_differ(const struct qr_schema *s, qr_expr a, qr_expr b);

#endif
