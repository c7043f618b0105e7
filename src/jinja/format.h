/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_format.h - one formatted field, shared by % formatting and str.format. */
#ifndef QR_JINJA_FORMAT_H
#define QR_JINJA_FORMAT_H
#include "jinja/call.h"

struct qr_j_spec {
    uint32_t fill; /* 0: a blank */
    bool fill_user;
    char align;               /* '<', '>', '^', '=' (after the sign), 0: the type's own */
    char sign;                /* '+', ' ' or 0: only for negative numbers */
    bool alternate;           /* 0x, 0o, 0b; keeps the zeros of g */
    char group;               /* ',' or '_' between thousands, 0: none */
    int64_t width, precision; /* precision -1: the type's own */
    char type;
};

enum { QR_J_MAX_WIDTH = 1 << 20 };

/* A decimal number at s[*off], at most QR_J_MAX_WIDTH; *off moves behind it. */
quire_status qr_j_format_number(struct qr_j *j, const struct qr_j_str *s, size_t *off,
                                int64_t *out);
/* Types: d b o x X c for integers, e E f F g G % for floats (r: repr), s for text. */
quire_status qr_j_format_int(struct qr_j_sb *sb, int64_t v, const struct qr_j_spec *spec);
quire_status qr_j_format_float(struct qr_j_sb *sb, double v, const struct qr_j_spec *spec);
quire_status qr_j_format_text(struct qr_j_sb *sb, const struct qr_j_str *s,
                              const struct qr_j_spec *spec);

#endif
