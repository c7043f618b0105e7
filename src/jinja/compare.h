/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - equality, order and membership, by Python's rules. */
#ifndef QR_JINJA_COMPARE_H
#define QR_JINJA_COMPARE_H
#include "jinja/types.h"

enum qr_jinja_order_op { QR_JINJA_LT, QR_JINJA_LE, QR_JINJA_GT, QR_JINJA_GE };

/* a == b; never fails because of the types. */
quire_status qr_jinja_equal(struct qr_jinja *j, struct qr_jinja_value a, struct qr_jinja_value b,
                            bool *out);
/* a < b and the other ordering operators; a type error when the types have no order. */
quire_status qr_jinja_order(struct qr_jinja *j, enum qr_jinja_order_op op, struct qr_jinja_value a,
                            struct qr_jinja_value b, bool *out);
/* needle in hay. Consumes the items of a generator that it compares. */
quire_status qr_jinja_contains(struct qr_jinja *j, struct qr_jinja_value needle,
                               struct qr_jinja_value hay, bool *out);

#endif
