/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - lookup of filters. */
#ifndef QR_JINJA_FILTER_H
#define QR_JINJA_FILTER_H
#include "jinja/types.h"

/* Returns NULL if there is none. */
const struct qr_jinja_builtin *qr_jinja_filter_find(const struct qr_jinja_str *name);

#endif
