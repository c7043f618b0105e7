/* SPDX-License-Identifier: Apache-2.0 */
/* method_str.h - methods of str that transform or classify. */
#ifndef QR_JINJA_METHOD_STR_H
#define QR_JINJA_METHOD_STR_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_methods_str(size_t *n);

#endif
