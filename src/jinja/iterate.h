/* SPDX-License-Identifier: Apache-2.0 */
/* iterate.h - length and iteration of values. */
#ifndef QR_JINJA_ITERATE_H
#define QR_JINJA_ITERATE_H
#include "jinja/types.h"

bool qr_jinja_is_iterable(struct qr_jinja_value v);
/* Python's len(v). */
quire_status qr_jinja_length(struct qr_jinja *j, struct qr_jinja_value v, int64_t *out);
/* Collects the items that iterating over v yields in *out (a plain list); consumes a generator. The
 * items may be shared with v and must not be modified. */
quire_status qr_jinja_iterate(struct qr_jinja *j, struct qr_jinja_value v,
                              struct qr_jinja_list *out);

#endif
