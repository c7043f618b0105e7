/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - slices of values. */
#ifndef QR_JINJA_SLICE_H
#define QR_JINJA_SLICE_H
#include "jinja/types.h"

/* obj[start:stop:step]; part: the three bounds, MISSING or none when not given. */
quire_status qr_jinja_slice(struct qr_jinja *j, struct qr_jinja_value obj,
                            const struct qr_jinja_value part[3], struct qr_jinja_value *out);

#endif
