/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - strict UTF-8 decoding and encoding. */
#ifndef QR_BASE_UTF8_H
#define QR_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QR_UTF8_MAX = 4, QR_UTF8_REPLACEMENT = 0xFFFD };

/* Decodes the character at s[0 .. n), n >= 1. Returns
 *   > 0  its length, and its code point in *cp;
 *   < 0  minus the length of an ill-formed sequence, to be replaced by one U+FFFD;
 *   0    if all n bytes are the start of an incomplete character.
 * Overlong forms, surrogates and values above U+10FFFF are ill-formed. An ill-formed sequence is
 * the longest prefix of a well-formed character, at least 1 byte: Unicode's "maximal subpart" rule,
 * as in browsers and Python. */
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

/* Like qr_utf8_next at the end of the input: an incomplete character is ill-formed. Never 0. */
static inline int qr_utf8_next_final(const uint8_t *s, size_t n, uint32_t *cp)
{
    const int len = qr_utf8_next(s, n, cp);
    return len ? len : -(int)n;
}

/* Encodes a Unicode scalar value; returns its length. */
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

/* Length of a character of well-formed text, from its first byte. */
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

/* Replaces every ill-formed sequence of s[0 .. n) by U+FFFD. Returns the size of the result, and
 * writes it unless out is NULL. */
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
