/* SPDX-License-Identifier: Apache-2.0 */
/* to_json.h - Python's json.dumps. */
#ifndef QR_JINJA_TO_JSON_H
#define QR_JINJA_TO_JSON_H
#include "jinja/types.h"

struct qr_jinja_json_options {
    struct qr_jinja_value indent;            /* MISSING or none: one line */
    struct qr_jinja_value item_sep, key_sep; /* MISSING: the defaults of json.dumps */
    bool ascii, sort_keys;
};

quire_status qr_jinja_to_json(struct qr_jinja *j, struct qr_jinja_value v,
                              const struct qr_jinja_json_options *options,
                              struct qr_jinja_value *out);

#endif
