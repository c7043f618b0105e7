/* SPDX-License-Identifier: Apache-2.0 */
/* globals.h - global functions. */
#ifndef QR_JINJA_GLOBALS_H
#define QR_JINJA_GLOBALS_H
#include "jinja/types.h"

/* Returns NULL if there is none. */
const struct qr_jinja_builtin *qr_jinja_global_find(const struct qr_jinja_str *name);

#endif
