/* SPDX-License-Identifier: Apache-2.0 */
/* filter_string.h - filters on strings. */
#ifndef QR_JINJA_FILTER_STRING_H
#define QR_JINJA_FILTER_STRING_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_filters_string(size_t *n);

#endif
