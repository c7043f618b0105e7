/* SPDX-License-Identifier: Apache-2.0 */
/* unicode.c - UTF-8 and the character classes of Python's str methods. */
#include "jinja/unicode.h"
#include <utf8proc.h>

uint32_t qr_jinja_utf8_decode(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    switch (qr_jinja_utf8_len(*p)) {
    case 1:
        return u[0];
    case 2:
        return (uint32_t)(u[0] & 0x1F) << 6 | (u[1] & 0x3F);
    case 3:
        return (uint32_t)(u[0] & 0x0F) << 12 | (uint32_t)(u[1] & 0x3F) << 6 | (u[2] & 0x3F);
    default:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3F) << 12 |
               (uint32_t)(u[2] & 0x3F) << 6 | (u[3] & 0x3F);
    }
}

size_t qr_jinja_utf8_encode(uint32_t cp, char buf[4])
{
    if (cp < 0x80) {
        buf[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        buf[0] = (char)(0xC0 | cp >> 6);
        buf[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        buf[0] = (char)(0xE0 | cp >> 12);
        buf[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        buf[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    buf[0] = (char)(0xF0 | cp >> 18);
    buf[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    buf[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    buf[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t qr_jinja_utf8_count(const char *p, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !qr_jinja_utf8_is_cont(p[i]);
    return count;
}

size_t qr_jinja_char_offset(const struct qr_jinja_str *s, size_t index)
{
    size_t off = 0;
    while (index > 0 && off < s->n) {
        off += qr_jinja_utf8_len(s->p[off]);
        index--;
    }
    return off;
}

/* Length of the character at p, of which n bytes are available; 0 if it is invalid. */
static size_t valid_char(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    const size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    /* overlong encodings, surrogates, code points above U+10FFFF */
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return len;
}

bool qr_jinja_utf8_valid(const char *p, size_t n, size_t *bad)
{
    for (size_t i = 0; i < n;) {
        const size_t len = valid_char((const unsigned char *)p + i, n - i);
        if (!len) {
            *bad = i;
            return false;
        }
        i += len;
    }
    return true;
}

bool qr_jinja_is_space(uint32_t cp)
{
    if (cp < 0x80)
        return (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x20);
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

bool qr_jinja_is_line_break(uint32_t cp)
{
    return (cp >= 10 && cp <= 13) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 ||
           cp == 0x2029;
}

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

bool qr_jinja_is_printable(uint32_t cp)
{
    if (cp < 0x7F)
        return cp >= 0x20;
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

bool qr_jinja_is_alpha(uint32_t cp)
{
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return true;
    default:
        return false;
    }
}

bool qr_jinja_is_digit(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }
bool qr_jinja_is_upper(uint32_t cp) { return utf8proc_isupper((utf8proc_int32_t)cp); }
bool qr_jinja_is_lower(uint32_t cp) { return utf8proc_islower((utf8proc_int32_t)cp); }

bool qr_jinja_is_word(uint32_t cp)
{
    const utf8proc_category_t c = category(cp);
    return cp == '_' || qr_jinja_is_alpha(cp) || c == UTF8PROC_CATEGORY_ND ||
           c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}
