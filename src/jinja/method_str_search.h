/* SPDX-License-Identifier: Apache-2.0 */
/* method_str_search.h - methods of str that search, split and join. */
#ifndef QR_JINJA_METHOD_STR_SEARCH_H
#define QR_JINJA_METHOD_STR_SEARCH_H
#include "jinja/types.h"

/* Table of n builtins. */
const struct qr_jinja_builtin *qr_jinja_methods_str_search(size_t *n);

#endif
