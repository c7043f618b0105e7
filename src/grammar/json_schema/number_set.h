/* SPDX-License-Identifier: Apache-2.0 */
/* number_set.h - sets of numbers: unions of alternatives. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_NUMBER_SET_H
#define QR_GRAMMAR_JSON_SCHEMA_NUMBER_SET_H
#include "grammar/json_schema/types.h"

/* All numbers. */
extern const struct qr_number_alt qr_number_any;

/* These set `numbers` and `n_numbers` of *out and return false after a failure. */
bool qr_numbers_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                    struct qr_value_set *out);
bool qr_numbers_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out);
bool qr_numbers_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out);

/* Whether a number satisfies an alternative. *known is false where that cannot be told. */
bool qr_number_in(const struct qr_number_alt *alt, const struct qr_decimal *value, bool *known);

/* Whether no number satisfies the alternative; false also where that is unknown. */
bool qr_number_is_none(struct qr_schema *s, const struct qr_number_alt *alt);

#endif
