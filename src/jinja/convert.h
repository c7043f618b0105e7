/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - Python's int() and float() of strings, and float to int. */
#ifndef QR_JINJA_CONVERT_H
#define QR_JINJA_CONVERT_H
#include "jinja/types.h"

/* Accept a sign, surrounding white space and underscores between digits, as Python does. *ok is
 * false when s is not a number; only limits and budgets are failures. */
quire_status qr_jinja_str_to_double(struct qr_jinja *j, const struct qr_jinja_str *s, bool *ok,
                                    double *out);
/* base: 2 to 36, or 0: given by the prefix; *ok is false for other bases. */
quire_status qr_jinja_str_to_int(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t base,
                                 bool *ok, int64_t *out);
/* Truncates towards zero; QUIRE_E_RANGE beyond 64 bits. */
quire_status qr_jinja_double_to_int(struct qr_jinja *j, double f, int64_t *out);

#endif
