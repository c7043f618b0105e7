/* SPDX-License-Identifier: Apache-2.0 */
/* arith.h - arithmetic operators. */
#ifndef QR_JINJA_ARITH_H
#define QR_JINJA_ARITH_H
#include "jinja/types.h"

/* op: one of + - * / %, QR_JINJA_OP_FLOORDIV, QR_JINJA_OP_POW. */
quire_status qr_jinja_binary_op(struct qr_jinja *j, int op, struct qr_jinja_value a,
                                struct qr_jinja_value b, struct qr_jinja_value *out);
quire_status qr_jinja_negate(struct qr_jinja *j, struct qr_jinja_value v,
                             struct qr_jinja_value *out);

#endif
