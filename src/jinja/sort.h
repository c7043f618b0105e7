/* SPDX-License-Identifier: Apache-2.0 */
/* sort.h - stable sort by keys. */
#ifndef QR_JINJA_SORT_H
#define QR_JINJA_SORT_H
#include "jinja/types.h"

/* Sorts items[n] by keys[n] in the order of `<`; permutes both. */
quire_status qr_jinja_sort(struct qr_jinja *j, struct qr_jinja_value *items,
                           struct qr_jinja_value *keys, size_t n, bool reverse);

#endif
