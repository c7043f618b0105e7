/* SPDX-License-Identifier: Apache-2.0 */
/* str_format.h - str.format. */
#ifndef QR_JINJA_STR_FORMAT_H
#define QR_JINJA_STR_FORMAT_H
#include "jinja/types.h"

/* fmt.format(*args). */
quire_status qr_jinja_str_format(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out);

#endif
