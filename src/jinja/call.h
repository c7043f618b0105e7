/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - calls of values. */
#ifndef QR_JINJA_CALL_H
#define QR_JINJA_CALL_H
#include "jinja/types.h"

/* callee(args). */
quire_status qr_jinja_call_value(struct qr_jinja *j, struct qr_jinja_value callee,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out);

#endif
