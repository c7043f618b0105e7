/* SPDX-License-Identifier: Apache-2.0 */
/* filter_number.h - filters on numbers, and default. */
#ifndef QR_JINJA_FILTER_NUMBER_H
#define QR_JINJA_FILTER_NUMBER_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_filters_number(size_t *n);

#endif
