/* SPDX-License-Identifier: Apache-2.0 */
/* filter_select.h - map, select, reject and their variants. */
#ifndef QR_JINJA_FILTER_SELECT_H
#define QR_JINJA_FILTER_SELECT_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_filters_select(size_t *n);

#endif
