/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - str() and repr() of values. */
#ifndef QR_JINJA_PRINT_H
#define QR_JINJA_PRINT_H
#include "jinja/types.h"

/* Appends str(v); an undefined value prints as nothing. */
quire_status qr_jinja_print_str(struct qr_jinja_sb *sb, struct qr_jinja_value v);
/* Appends repr(v). */
quire_status qr_jinja_print_repr(struct qr_jinja_sb *sb, struct qr_jinja_value v);
/* str(v); v itself when it is a string. */
quire_status qr_jinja_to_str(struct qr_jinja *j, struct qr_jinja_value v,
                             const struct qr_jinja_str **out);

#endif
