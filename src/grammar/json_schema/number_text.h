/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.h - the JSON texts of numbers. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_NUMBER_TEXT_H
#define QR_GRAMMAR_JSON_SCHEMA_NUMBER_TEXT_H
#include "grammar/json_schema/types.h"

/* The texts of the numbers of an alternative: those of regex/number_range.h with at most 20 digits
 * behind the point (two more than the bounds have, if that is more) and 3 in the exponent; a single
 * value without further zeros, but .0 behind an integer that may have a point. QR_REGEX_NONE and a
 * failure where multipleOf cannot be expressed exactly. */
qr_regex qr_number_regex(struct qr_schema *s, const struct qr_number_alt *alt);

#endif
