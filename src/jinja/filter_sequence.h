/* SPDX-License-Identifier: Apache-2.0 */
/* filter_sequence.h - filters on sequences and mappings. */
#ifndef QR_JINJA_FILTER_SEQUENCE_H
#define QR_JINJA_FILTER_SEQUENCE_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_filters_sequence(size_t *n);

#endif
