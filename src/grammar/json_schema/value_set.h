/* SPDX-License-Identifier: Apache-2.0 */
/* value_set.h - sets of JSON values. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_VALUE_SET_H
#define QR_GRAMMAR_JSON_SCHEMA_VALUE_SET_H
#include "grammar/json_schema/types.h"

/* All values of the types, QR_TYPE_*. */
struct qr_value_set qr_set_of_types(uint32_t types);

/* These write *out and return false after a failure. */
bool qr_set_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                struct qr_value_set *out);
bool qr_set_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
               struct qr_value_set *out);
/* The values of `a` that are not in b. QUIRE_E_UNSUPPORTED where that cannot be expressed. */
bool qr_set_minus(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                  struct qr_value_set *out);

/* The types in which it is not certain that the sets are disjoint, QR_TYPE_*. */
uint32_t qr_set_overlap(struct qr_schema *s, const struct qr_value_set *a,
                        const struct qr_value_set *b);

/* Whether it is certain that the set has no value. */
bool qr_set_is_none(struct qr_schema *s, const struct qr_value_set *a);

#endif
