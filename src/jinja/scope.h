/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - scopes of variables. */
#ifndef QR_JINJA_SCOPE_H
#define QR_JINJA_SCOPE_H
#include "jinja/types.h"

quire_status qr_jinja_scope_new(struct qr_jinja *j, struct qr_jinja_scope *parent,
                                struct qr_jinja_scope **out);
/* Looks a variable up from the innermost scope outwards. *out points to its value, or is NULL. */
quire_status qr_jinja_scope_find(struct qr_jinja *j, const struct qr_jinja_scope *scope,
                                 struct qr_jinja_value name, struct qr_jinja_value **out);

#endif
