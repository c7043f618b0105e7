/* SPDX-License-Identifier: Apache-2.0 */
/* format_spec.h - one formatted field, shared by % formatting and str.format. */
#ifndef QR_JINJA_FORMAT_SPEC_H
#define QR_JINJA_FORMAT_SPEC_H
#include "jinja/types.h"

enum { QR_JINJA_MAX_WIDTH = 1 << 20 };

struct qr_jinja_format_spec {
    uint32_t fill; /* code point; 0: a blank */
    bool fill_tainted;
    char align;               /* '<', '>', '^', '=' (after the sign), 0: default of the type */
    char sign;                /* '+', ' ' or 0: only for negative numbers */
    bool alternate;           /* prefix 0x, 0o, 0b; keeps the trailing zeros of g */
    char group;               /* ',' or '_' between thousands, 0: none */
    int64_t width, precision; /* precision -1: default of the type */
    char type;
};

/* Parses a decimal number at s[*off], at most QR_JINJA_MAX_WIDTH, and advances *off. */
quire_status qr_jinja_parse_width(struct qr_jinja *j, const struct qr_jinja_str *s, size_t *off,
                                  int64_t *out);
/* Append a field. Types: d b o x X c for integers, e E f F g G % for floats (r: repr), s for
 * strings. */
quire_status qr_jinja_format_int(struct qr_jinja_sb *sb, int64_t v,
                                 const struct qr_jinja_format_spec *spec);
quire_status qr_jinja_format_float(struct qr_jinja_sb *sb, double v,
                                   const struct qr_jinja_format_spec *spec);
quire_status qr_jinja_format_str(struct qr_jinja_sb *sb, const struct qr_jinja_str *s,
                                 const struct qr_jinja_format_spec *spec);

#endif
