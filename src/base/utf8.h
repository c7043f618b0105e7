/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - strict UTF-8 decoding and encoding; the one place that knows the bit layout. */
#ifndef QR_BASE_UTF8_H
#define QR_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QR_UTF8_MAX = 4, QR_UTF8_REPLACEMENT = 0xFFFD };

/* Looks at the character that starts at s (n >= 1 bytes are there). Returns > 0  its length; *cp is
 * its code point, < 0  minus the length of the ill-formed sequence, which one U+FFFD stands for, 0
 * all n bytes are the beginning of a character whose rest is missing. Overlong forms, surrogates
 * and values above U+10FFFF are ill-formed. The length of an ill-formed sequence is the longest
 * prefix that could have begun a character, and at least 1 (Unicode's "maximal subpart" rule, which
 * browsers and Python follow too). */
static inline int qr_utf8_next(const uint8_t *s, size_t n, uint32_t *cp)
{
    const uint8_t b = s[0];
    if (b < 0x80) {
        *cp = b;
        return 1;
    }
    if (b < 0xC2 || b > 0xF4)
        return -1;
    const int len = b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    /* the second byte's range excludes overlong forms, surrogates and > U+10FFFF */
    const uint8_t lo = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
    const uint8_t hi = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    uint32_t value = b & (0x7Fu >> len);
    for (int i = 1; i < len; i++) {
        if ((size_t)i >= n)
            return 0;
        if (s[i] < (i == 1 ? lo : 0x80) || s[i] > (i == 1 ? hi : 0xBF))
            return -i;
        value = value << 6 | (s[i] & 0x3F);
    }
    *cp = value;
    return len;
}

/* The same where no more input will come: a cut-off character is ill-formed. Never returns 0. */
static inline int qr_utf8_next_final(const uint8_t *s, size_t n, uint32_t *cp)
{
    const int len = qr_utf8_next(s, n, cp);
    return len ? len : -(int)n;
}

/* Writes a code point that is a Unicode scalar value; returns its length. */
static inline size_t qr_utf8_put(uint8_t out[QR_UTF8_MAX], uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (uint8_t)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (uint8_t)(0xC0 | cp >> 6);
        out[1] = (uint8_t)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (uint8_t)(0xE0 | cp >> 12);
        out[1] = (uint8_t)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | cp >> 18);
    out[1] = (uint8_t)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (cp & 0x3F));
    return 4;
}

/* Length of a character of well-formed text by its first byte. */
static inline size_t qr_utf8_len(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static inline bool qr_utf8_is_continuation(uint8_t b) { return (b & 0xC0) == 0x80; }

static inline bool qr_utf8_valid(const uint8_t *s, size_t n)
{
    uint32_t cp;
    for (size_t i = 0; i < n;) {
        const int len = qr_utf8_next_final(s + i, n - i, &cp);
        if (len < 0)
            return false;
        i += (size_t)len;
    }
    return true;
}

/* Bytes of s[0..n) once every ill-formed sequence has become U+FFFD; writes them when out is not
 * NULL. */
static inline size_t qr_utf8_repair(const uint8_t *s, size_t n, uint8_t *out)
{
    size_t size = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = QR_UTF8_REPLACEMENT;
        const int len = qr_utf8_next_final(s + i, n - i, &cp);
        uint8_t buf[QR_UTF8_MAX];
        const size_t put = qr_utf8_put(buf, len > 0 ? cp : (uint32_t)QR_UTF8_REPLACEMENT);
        for (size_t k = 0; out && k < put; k++)
            out[size + k] = buf[k];
        size += put;
        i += (size_t)(len > 0 ? len : -len);
    }
    return size;
}

#endif
