/* SPDX-License-Identifier: Apache-2.0 */
/* dependencies.h - keywords that apply where an object has a key. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_DEPENDENCIES_H
#define QR_GRAMMAR_JSON_SCHEMA_DEPENDENCIES_H
#include "grammar/json_schema/keywords.h"

/* dependencies, dependentRequired, dependentSchemas: reduces *set to its values that satisfy them.
 * False and a failure. */
bool qr_apply_dependencies(struct qr_schema *s, const struct qr_keywords *k,
                           struct qr_value_set *set);

#endif
