/* SPDX-License-Identifier: Apache-2.0 */
/* macro.h - calls of macros. */
#ifndef QR_JINJA_MACRO_H
#define QR_JINJA_MACRO_H
#include "jinja/types.h"

quire_status qr_jinja_call_macro(struct qr_jinja *j, const struct qr_jinja_macro *m,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out);

#endif
