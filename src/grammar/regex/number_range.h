/* SPDX-License-Identifier: Apache-2.0 */
/* number_range.h - the JSON texts of sets of numbers, as expressions over bytes.
 *
 * Which spellings are accepted: every number of the set that has a finite decimal notation in that
 * notation, -?(0|[1-9][0-9]*)(\.[0-9]+)?, with any number of trailing zeros after the point.
 * Integers have no point: 1.0 is an integer of JSON Schema, but parsers of programs refuse it for
 * integers. -0 is accepted where negative numbers are. With an exponent:
 *   - all numbers, all from 0, all above 0 and their mirror images: any JSON number;
 *   - other bounds: d.ddde[+-]N with one digit d from 1 to 9 before the point, if the text before
 *     the exponent is a number of the set too, so that an answer that began with it can end;
 *   - integers, non-integers and multiples: none. */
#ifndef QR_GRAMMAR_REGEX_NUMBER_RANGE_H
#define QR_GRAMMAR_REGEX_NUMBER_RANGE_H
#include "grammar/regex/regex_set.h"

enum qr_number_kind {
    QR_NUMBER_ANY,
    QR_NUMBER_INTEGER,
    QR_NUMBER_FRACTIONAL, /* no integer */
};

/* Bounds and divisors are texts of JSON numbers of any size, e.g. "-1.5E-2". */
struct qr_number_multiple {
    const char *divisor; /* greater than 0 */
    bool negated;        /* the number is no multiple */
};
struct qr_number_range {
    const char *min, *max; /* NULL = unbounded */
    bool min_exclusive, max_exclusive;
    enum qr_number_kind kind;
    const struct qr_number_multiple *multiples; /* [n_multiples] all must hold */
    size_t n_multiples;
};

/* QR_REGEX_NONE if min > max; a set that is empty because of its multiples may be another
 * expression, which qr_regex_is_none() tells.
 *  QUIRE_E_INVALID_ARG a text is no JSON number, or a divisor is not above 0;
 *  QUIRE_E_UNSUPPORTED a bound with more than 700 decimal places before and after the point, or a
 *  divisor that needs more than 2^31 - 1 residues or 400 places: *which is that text;
 *  QUIRE_E_LIMIT, QUIRE_E_NOMEM the set has failed.
 *  which  may be NULL; set with the first two errors */
quire_status qr_number_range(struct qr_regex_set *set, const struct qr_number_range *range,
                             qr_regex *out, const char **which) QUIRE_MUST_CHECK;

#endif
