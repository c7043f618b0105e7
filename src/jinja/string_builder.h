/* SPDX-License-Identifier: Apache-2.0 */
/* string_builder.h - growing strings with per-byte taint. */
#ifndef QR_JINJA_STRING_BUILDER_H
#define QR_JINJA_STRING_BUILDER_H
#include "jinja/types.h"

/* A string under construction. It lives in the arena and needs no cleanup. Its length is limited to
 * j->max_bytes. Contents only grow at the end, so finished strings may share its memory. */
struct qr_jinja_sb {
    struct qr_jinja *j;
    char *p;
    uint8_t *taint; /* per byte; NULL while all bytes are as `tainted` says */
    size_t n, cap;
    bool tainted; /* meaningful while taint is NULL and n > 0 */
};

void qr_jinja_sb_init(struct qr_jinja_sb *sb, struct qr_jinja *j);
/* Ensures capacity for `extra` more bytes. */
quire_status qr_jinja_sb_reserve(struct qr_jinja_sb *sb, size_t extra);
quire_status qr_jinja_sb_append(struct qr_jinja_sb *sb, const char *p, size_t n, bool tainted);
/* Untainted. */
quire_status qr_jinja_sb_append_literal(struct qr_jinja_sb *sb, const char *literal);
/* Bytes [off, off + n) of s. */
quire_status qr_jinja_sb_append_range(struct qr_jinja_sb *sb, const struct qr_jinja_str *s,
                                      size_t off, size_t n);
quire_status qr_jinja_sb_append_str(struct qr_jinja_sb *sb, const struct qr_jinja_str *s);
quire_status qr_jinja_sb_append_char(struct qr_jinja_sb *sb, uint32_t cp, bool tainted);
/* `count` times the character cp; count <= 0: nothing. */
quire_status qr_jinja_sb_append_fill(struct qr_jinja_sb *sb, uint32_t cp, int64_t count,
                                     bool tainted);
/* Decimal digits of i, untainted. */
quire_status qr_jinja_sb_append_int(struct qr_jinja_sb *sb, int64_t i);
/* Makes a string of the contents. The builder stays usable: qr_jinja_str_concat appends to it. */
quire_status qr_jinja_sb_finish(struct qr_jinja_sb *sb, struct qr_jinja_value *out);

#endif
