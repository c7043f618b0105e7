/* SPDX-License-Identifier: Apache-2.0 */
/* strftime.h - strftime in the C locale. */
#ifndef QR_JINJA_STRFTIME_H
#define QR_JINJA_STRFTIME_H
#include "jinja/types.h"

quire_status qr_jinja_strftime(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                               const struct tm *tm, struct qr_jinja_value *out);

#endif
