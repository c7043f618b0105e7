/* SPDX-License-Identifier: Apache-2.0 */
/* schema_set.h - the value set of one schema: its own keywords, references and applicators. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_SCHEMA_SET_H
#define QR_GRAMMAR_JSON_SCHEMA_SCHEMA_SET_H
#include "grammar/json_schema/types.h"

/* False and a failure. */
bool qr_set_of_schema(struct qr_schema *s, const struct qr_json *schema, struct qr_value_set *out);

#endif
