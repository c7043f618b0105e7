/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.h - exact decimal numbers. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_DECIMAL_H
#define QR_GRAMMAR_JSON_SCHEMA_DECIMAL_H
#include "grammar/json_schema/types.h"

/* Reads a number of the document. False and a failure without memory. */
bool qr_decimal_read(struct qr_schema *s, const struct qr_json *number, struct qr_decimal *out);

/* -1, 0, 1 */
int qr_decimal_compare(const struct qr_decimal *a, const struct qr_decimal *b);

static inline bool qr_decimal_is_integer(const struct qr_decimal *d) { return d->exponent >= 0; }

/* Whether a is a multiple of b, b > 0. *known is false where the numbers are too long to tell. */
bool qr_decimal_is_multiple(const struct qr_decimal *a, const struct qr_decimal *b, bool *known);

/* The value as the text of a JSON number, "-15e-1". NULL and a failure without memory. */
const char *qr_decimal_text(struct qr_schema *s, const struct qr_decimal *d);

#endif
