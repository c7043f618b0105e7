/* SPDX-License-Identifier: Apache-2.0 */
/* percent_format.h - printf-style formatting: fmt % values. */
#ifndef QR_JINJA_PERCENT_FORMAT_H
#define QR_JINJA_PERCENT_FORMAT_H
#include "jinja/types.h"

/* values: a tuple, a dict for "%(name)s", or a single value. */
quire_status qr_jinja_percent_format(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                                     struct qr_jinja_value values, struct qr_jinja_value *out);

#endif
