/* SPDX-License-Identifier: Apache-2.0 */
/* unicode.h - UTF-8 and the character classes of Python's str methods. */
#ifndef QR_JINJA_UNICODE_H
#define QR_JINJA_UNICODE_H
#include "jinja/types.h"

/* Pointers to characters point into valid UTF-8. */
static inline bool qr_jinja_utf8_is_cont(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Length in bytes of the character with this lead byte. */
static inline size_t qr_jinja_utf8_len(char lead)
{
    const unsigned char c = (unsigned char)lead;
    return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* Code point of the character at p. */
uint32_t qr_jinja_utf8_decode(const char *p);
/* Returns the number of bytes written. */
size_t qr_jinja_utf8_encode(uint32_t cp, char buf[4]);
/* Number of characters in n bytes at p. */
size_t qr_jinja_utf8_count(const char *p, size_t n);
/* *bad: offset of the first invalid byte. */
bool qr_jinja_utf8_valid(const char *p, size_t n, size_t *bad);
/* Byte offset of character `index`; s->n beyond the end. */
size_t qr_jinja_char_offset(const struct qr_jinja_str *s, size_t index);

bool qr_jinja_is_space(uint32_t cp);      /* str.isspace() */
bool qr_jinja_is_line_break(uint32_t cp); /* boundary of str.splitlines(); CR LF counts as two */
bool qr_jinja_is_printable(uint32_t cp);
bool qr_jinja_is_alpha(uint32_t cp);
bool qr_jinja_is_digit(uint32_t cp); /* str.isdecimal() */
bool qr_jinja_is_upper(uint32_t cp);
bool qr_jinja_is_lower(uint32_t cp);
bool qr_jinja_is_word(uint32_t cp); /* \w of a regular expression */

#endif
