/* SPDX-License-Identifier: Apache-2.0 */
/* dtoa.h - exact conversion between doubles and decimal, independent of the locale. */
#ifndef QR_BASE_DTOA_H
#define QR_BASE_DTOA_H
#include <stdbool.h>
#include <stddef.h>

enum {
    QR_FLOAT_CHARS_MAX = 512, /* bytes that suffice for every result below */
    QR_MAX_FLOAT_PRECISION = 100
};

/* Parses all n bytes of s: digits, an optional fraction and exponent; no sign, no underscores.
 * Correctly rounded. Returns false if s has another form. */
bool qr_strtod(const char *s, size_t n, double *out);
/* Python's repr(float): the shortest digits that parse to the same value. Returns the length. */
size_t qr_float_repr(double v, char buf[QR_FLOAT_CHARS_MAX]);
/* printf's %e, %f, %g with 0 <= precision <= QR_MAX_FLOAT_PRECISION; `alt` keeps trailing zeros of
 * g. The sign is printed only for negative values. Returns the length. */
size_t qr_float_format(double v, char type, int precision, bool alt, char buf[QR_FLOAT_CHARS_MAX]);

#endif
