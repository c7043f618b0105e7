/* SPDX-License-Identifier: Apache-2.0 */
/* object_set.h - sets of objects: unions of alternatives. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_OBJECT_SET_H
#define QR_GRAMMAR_JSON_SCHEMA_OBJECT_SET_H
#include "grammar/json_schema/types.h"

/* All objects. */
extern const struct qr_object_alt qr_object_any;

/* These set `objects` and `n_objects` of *out and return false after a failure. */
bool qr_objects_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                    struct qr_value_set *out);
bool qr_objects_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out);
/* QUIRE_E_UNSUPPORTED where the complement needs "some key has a value such that". */
bool qr_objects_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out);

/* Whether it is certain that no object satisfies both, or the one. */
bool qr_objects_disjoint(struct qr_schema *s, const struct qr_object_alt *a,
                         const struct qr_object_alt *b);
bool qr_object_is_none(struct qr_schema *s, const struct qr_object_alt *a);

/* Whether the alternative has no value as far as its own numbers tell. */
bool qr_object_is_obviously_none(const struct qr_object_alt *a);

/* The set of the values of a key that is no property. */
qr_expr qr_object_region_value(struct qr_schema *s, const struct qr_object_alt *alt, uint32_t key);

#endif
