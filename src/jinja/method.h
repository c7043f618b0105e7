/* SPDX-License-Identifier: Apache-2.0 */
/* method.h - lookup of methods. */
#ifndef QR_JINJA_METHOD_H
#define QR_JINJA_METHOD_H
#include "jinja/types.h"

/* Looks up the method `name` of values of v's type. Returns NULL if there is none. *unsafe: set if
 * it exists but would modify v, which the sandbox forbids. */
const struct qr_jinja_builtin *qr_jinja_method_find(struct qr_jinja_value v,
                                                    const struct qr_jinja_str *name, bool *unsafe);

#endif
