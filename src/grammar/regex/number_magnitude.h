/* SPDX-License-Identifier: Apache-2.0 */
/* number_magnitude.h - exact decimal bounds, and the decimal notations of the numbers from 0 that
 * lie between two bounds. */
#ifndef QR_GRAMMAR_REGEX_NUMBER_MAGNITUDE_H
#define QR_GRAMMAR_REGEX_NUMBER_MAGNITUDE_H
#include "grammar/regex/regex_set.h"

enum { QR_NUMBER_MAX_PLACES = 700 };

/* +-0.d1d2..dn * 10^point, d1 and dn not 0; zero: n = 0, point = 0, not negative. At most
 * QR_NUMBER_MAX_PLACES digits before and as many after the decimal point. */
struct qr_number_bound {
    bool negative;
    int n, point;
    char digits[QR_NUMBER_MAX_PLACES]; /* values 0 .. 9 */
};

/* Reads the text of a JSON number. QUIRE_E_INVALID_ARG it is none, QUIRE_E_UNSUPPORTED it has too
 * many digits. */
quire_status qr_number_bound_read(const char *text, struct qr_number_bound *out) QUIRE_MUST_CHECK;
/* The integer `value` >= 0. */
void qr_number_bound_set(struct qr_number_bound *out, int value);
/* -1, 0, 1; signs are ignored */
int qr_number_bound_compare(const struct qr_number_bound *a, const struct qr_number_bound *b);

/* Numbers >= 0; signs of the bounds are ignored. */
struct qr_magnitudes {
    const struct qr_number_bound *low, *high; /* borrowed; NULL = 0 and unbounded */
    bool low_open, high_open;                 /* the bound itself is excluded */
    bool integer;
};

/* (0|[1-9][0-9]*)(\.[0-9]+)? of these values; without the point if they are integers. */
qr_regex qr_magnitude_range(struct qr_regex_set *set, const struct qr_magnitudes *m);

/* One decimal digit from first to last; QR_REGEX_NONE if first > last. */
qr_regex qr_digit_range(struct qr_regex_set *set, int first, int last);

#endif
