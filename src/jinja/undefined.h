/* SPDX-License-Identifier: Apache-2.0 */
/* undefined.h - undefined values and their messages. */
#ifndef QR_JINJA_UNDEFINED_H
#define QR_JINJA_UNDEFINED_H
#include "jinja/types.h"

/* The variable `name` is not defined. */
quire_status qr_jinja_undefined_name(struct qr_jinja *j, struct qr_jinja_value name,
                                     struct qr_jinja_value *out);
/* obj has no attribute or item `name`. */
quire_status qr_jinja_undefined_attr(struct qr_jinja *j, struct qr_jinja_value obj,
                                     struct qr_jinja_value name, struct qr_jinja_value *out);
/* obj has the attribute `name`, but the sandbox forbids access. */
quire_status qr_jinja_undefined_unsafe(struct qr_jinja *j, struct qr_jinja_value obj,
                                       struct qr_jinja_value name, struct qr_jinja_value *out);
/* Undefined with a message of its own; hint must outlive the arena. */
quire_status qr_jinja_undefined_hint(struct qr_jinja *j, const char *hint,
                                     struct qr_jinja_value *out);
/* Fails with the message of the undefined value v. */
quire_status qr_jinja_undefined_error(struct qr_jinja *j, struct qr_jinja_value v);

#endif
