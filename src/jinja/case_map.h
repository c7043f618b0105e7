/* SPDX-License-Identifier: Apache-2.0 */
/* case_map.h - case mapping of strings. */
#ifndef QR_JINJA_CASE_MAP_H
#define QR_JINJA_CASE_MAP_H
#include "jinja/types.h"

enum qr_jinja_case {
    QR_JINJA_CASE_LOWER,
    QR_JINJA_CASE_UPPER,
    QR_JINJA_CASE_CAPITALIZE,
    QR_JINJA_CASE_TITLE,
    QR_JINJA_CASE_SWAP,
    QR_JINJA_CASE_FOLD
};

quire_status qr_jinja_map_case(struct qr_jinja *j, const struct qr_jinja_str *s,
                               enum qr_jinja_case how, struct qr_jinja_value *out);

#endif
