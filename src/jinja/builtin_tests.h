/* SPDX-License-Identifier: Apache-2.0 */
/* builtin_tests.h - Jinja2's builtin tests. */
#ifndef QR_JINJA_BUILTIN_TESTS_H
#define QR_JINJA_BUILTIN_TESTS_H
#include "jinja/types.h"

/* Returns NULL if there is none. */
const struct qr_jinja_builtin *qr_jinja_test_find(const struct qr_jinja_str *name);

#endif
