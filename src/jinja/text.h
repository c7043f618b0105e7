/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_text.h - building and cutting the Jinja interpreter's strings; characters; printing of
 * values. */
#ifndef QR_JINJA_TEXT_H
#define QR_JINJA_TEXT_H
#include "base/checked.h"
#include "jinja/value.h"

/* A growing string. It lives in the arena, so an abandoned one needs no clean-up; limited to
 * j->max_bytes. */
struct qr_j_sb {
    struct qr_j *j;
    char *p;
    uint8_t *mark; /* NULL as long as all bytes are alike */
    size_t n, cap;
    bool user; /* meaningful while mark is NULL and n > 0 */
};

void qr_j_sb_init(struct qr_j_sb *sb, struct qr_j *j);
quire_status qr_j_sb_reserve(struct qr_j_sb *sb, size_t extra);
quire_status qr_j_sb_add(struct qr_j_sb *sb, const char *p, size_t n, bool user);
quire_status qr_j_sb_addz(struct qr_j_sb *sb, const char *literal); /* template text */
quire_status qr_j_sb_part(struct qr_j_sb *sb, const struct qr_j_str *s, size_t off, size_t n);
quire_status qr_j_sb_str(struct qr_j_sb *sb, const struct qr_j_str *s);
quire_status qr_j_sb_char(struct qr_j_sb *sb, uint32_t cp, bool user);
quire_status qr_j_sb_pad(struct qr_j_sb *sb, uint32_t cp, int64_t count,
                         bool user);                                 /* count < 0: none */
quire_status qr_j_sb_value(struct qr_j_sb *sb, struct qr_j_value v); /* as Python's str() */
quire_status qr_j_sb_repr(struct qr_j_sb *sb, struct qr_j_value v);  /* as Python's repr() */
quire_status qr_j_sb_int(struct qr_j_sb *sb, int64_t i);
/* The finished string; the buffer may still be appended to by qr_j_concat. */
quire_status qr_j_sb_done(struct qr_j_sb *sb, struct qr_j_value *out);

/* str(v): v itself when it is a string. */
quire_status qr_j_to_str(struct qr_j *j, struct qr_j_value v, const struct qr_j_str **out);
/* Bytes [off, off + n) of s, sharing its memory. */
quire_status qr_j_cut(struct qr_j *j, const struct qr_j_str *s, size_t off, size_t n,
                      struct qr_j_value *out);
/* a + b. Repeated appending to the newest result takes linear time in all. */
quire_status qr_j_concat(struct qr_j *j, const struct qr_j_str *a, const struct qr_j_str *b,
                         struct qr_j_value *out);
/* s with HTML's special characters escaped, marked safe; s itself if it is safe already. */
quire_status qr_j_html_escape(struct qr_j *j, const struct qr_j_str *s, struct qr_j_value *out);

static inline bool qr_j_byte_user(const struct qr_j_str *s, size_t i)
{
    return s->mark ? s->mark[i] : s->user;
}

/* Position of needle in hay at or after `from`; SIZE_MAX if absent. An empty needle is found at
 * once. */
size_t qr_j_find(const struct qr_j_str *hay, size_t from, const struct qr_j_str *needle);
/* Last position whose end is <= `end`, SIZE_MAX if absent, in *out. */
quire_status qr_j_rfind(struct qr_j *j, const struct qr_j_str *hay, size_t end,
                        const struct qr_j_str *needle, size_t *out);

/* --- characters: p..p+n is valid UTF-8 --- */
static inline bool qr_j_is_cont(char c) { return ((unsigned char)c & 0xC0) == 0x80; }
static inline size_t qr_j_char_len(char lead)
{
    const unsigned char c = (unsigned char)lead;
    return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}
uint32_t qr_j_decode(const char *p);          /* the character at p */
size_t qr_j_encode(uint32_t cp, char buf[4]); /* bytes written */
size_t qr_j_count_chars(const char *p, size_t n);
size_t qr_j_char_offset(const struct qr_j_str *s,
                        size_t index); /* byte offset; s->n past the end */
bool qr_j_valid_utf8(const char *p, size_t n,
                     size_t *bad);    /* *bad: offset of the first wrong byte */
bool qr_j_is_space(uint32_t cp);      /* str.isspace() */
bool qr_j_is_line_break(uint32_t cp); /* where str.splitlines() cuts, but for CR LF */
bool qr_j_is_printable(uint32_t cp);
bool qr_j_is_alpha(uint32_t cp);
bool qr_j_is_digit(uint32_t cp); /* str.isdigit() of decimal digits */
bool qr_j_is_upper(uint32_t cp);
bool qr_j_is_lower(uint32_t cp);
bool qr_j_is_word(uint32_t cp); /* \w of a regular expression */

/* --- numbers --- */
/* Parses all of s: digits, an optional fraction and exponent; no sign, no underscores. Correctly
 * rounded. */
bool qr_j_parse_double(const char *s, size_t n, double *out);
enum { QR_J_NUMBER_MAX = 512 }; /* bytes that suffice for every result of the next two */
/* repr(float): the shortest digits that read back as the same value. */
size_t qr_j_float_repr(double v, char buf[QR_J_NUMBER_MAX]);
/* printf's %e, %f, %g with 0 <= precision <= QR_J_MAX_PRECISION; `alt` keeps trailing zeros of g.
 * The sign is printed only for negative values. */
enum { QR_J_MAX_PRECISION = 100 };
size_t qr_j_float_format(double v, char type, int precision, bool alt, char buf[QR_J_NUMBER_MAX]);

#endif
