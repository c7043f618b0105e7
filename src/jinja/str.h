/* SPDX-License-Identifier: Apache-2.0 */
/* str.h - operations on strings shared by operators, filters and methods. */
#ifndef QR_JINJA_STR_H
#define QR_JINJA_STR_H
#include "jinja/types.h"

enum { QR_JINJA_STRIP_LEFT = 1, QR_JINJA_STRIP_RIGHT = 2 };
enum qr_jinja_align { QR_JINJA_ALIGN_LEFT, QR_JINJA_ALIGN_RIGHT, QR_JINJA_ALIGN_CENTER };

static inline bool qr_jinja_byte_tainted(const struct qr_jinja_str *s, size_t i)
{
    return s->taint ? s->taint[i] : s->tainted;
}

bool qr_jinja_str_is(const struct qr_jinja_str *s, const char *literal);

/* Bytes [off, off + n) of s, sharing its memory. */
quire_status qr_jinja_substr(struct qr_jinja *j, const struct qr_jinja_str *s, size_t off, size_t n,
                             struct qr_jinja_value *out);
/* a + b. Appending repeatedly to the latest result takes amortized linear time. */
quire_status qr_jinja_str_concat(struct qr_jinja *j, const struct qr_jinja_str *a,
                                 const struct qr_jinja_str *b, struct qr_jinja_value *out);
/* s with HTML's special characters escaped, marked safe; s itself if it is safe already. */
quire_status qr_jinja_html_escape(struct qr_jinja *j, const struct qr_jinja_str *s,
                                  struct qr_jinja_value *out);

/* Byte offset of needle in hay at or after `from` <= hay->n; SIZE_MAX if absent. An empty needle
 * matches at `from`. */
size_t qr_jinja_str_find(const struct qr_jinja_str *hay, size_t from,
                         const struct qr_jinja_str *needle);
/* Byte offset of the last occurrence that ends at or before `end`, in *out; SIZE_MAX if absent. */
quire_status qr_jinja_str_rfind(struct qr_jinja *j, const struct qr_jinja_str *hay, size_t end,
                                const struct qr_jinja_str *needle, size_t *out);

/* chars: a string of the characters to remove; MISSING or none: white space. */
quire_status qr_jinja_str_strip(struct qr_jinja *j, const struct qr_jinja_str *s,
                                struct qr_jinja_value chars, int sides, struct qr_jinja_value *out);
/* count < 0: all occurrences. */
quire_status qr_jinja_str_replace(struct qr_jinja *j, const struct qr_jinja_str *s,
                                  const struct qr_jinja_str *old, const struct qr_jinja_str *new_,
                                  int64_t count, struct qr_jinja_value *out);
quire_status qr_jinja_str_splitlines(struct qr_jinja *j, const struct qr_jinja_str *s,
                                     bool keep_ends, struct qr_jinja_list **out);
/* Pads s to `width` characters. fill: a string of one character, or NULL for a blank. */
quire_status qr_jinja_str_pad(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t width,
                              const struct qr_jinja_str *fill, enum qr_jinja_align align,
                              struct qr_jinja_value *out);
/* times <= 0: the empty string. */
quire_status qr_jinja_str_repeat(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t times,
                                 struct qr_jinja_value *out);

#endif
