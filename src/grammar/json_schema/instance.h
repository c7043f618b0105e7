/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - values of the document as sets, and as members of sets. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_INSTANCE_H
#define QR_GRAMMAR_JSON_SCHEMA_INSTANCE_H
#include "grammar/json_schema/types.h"

/* The set of one value. False and a failure without memory. */
bool qr_set_of_value(struct qr_schema *s, const struct qr_json *value, struct qr_value_set *out);

/* Whether a value is in a set. False and a failure where that cannot be told. */
bool qr_set_has(struct qr_schema *s, const struct qr_value_set *a, const struct qr_json *value,
                bool *has);

#endif
