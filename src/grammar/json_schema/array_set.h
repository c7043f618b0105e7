/* SPDX-License-Identifier: Apache-2.0 */
/* array_set.h - sets of arrays: unions of alternatives. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_ARRAY_SET_H
#define QR_GRAMMAR_JSON_SCHEMA_ARRAY_SET_H
#include "grammar/json_schema/types.h"

/* All arrays. */
extern const struct qr_array_alt qr_array_any;

/* These set `arrays` and `n_arrays` of *out and return false after a failure. */
bool qr_arrays_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out);
bool qr_arrays_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                  struct qr_value_set *out);
/* QUIRE_E_UNSUPPORTED for uniqueItems, and `contains` with both bounds. */
bool qr_arrays_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out);

/* Whether it is certain that no array satisfies both, or the one. */
bool qr_arrays_disjoint(struct qr_schema *s, const struct qr_array_alt *a,
                        const struct qr_array_alt *b);
bool qr_array_is_none(struct qr_schema *s, const struct qr_array_alt *a);

/* The set of item i. */
static inline qr_expr qr_array_item(const struct qr_array_alt *a, uint32_t i)
{
    return i < a->n_prefix ? a->prefix[i] : a->rest;
}

#endif
