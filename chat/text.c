/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - growing strings; repairs and escapes untrusted UTF-8. */
#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *t, const char *bytes, size_t n)
{
    if (t->failed)
        return;
    if (n >= t->capacity - t->size || !t->data) {
        size_t capacity = t->capacity ? t->capacity : 64;
        while (capacity - t->size <= n && capacity < ((size_t)1 << 40))
            capacity *= 2;
        char *data = realloc(t->data, capacity);
        if (!data) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->capacity = capacity;
    }
    if (n)
        memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = 0;
}

void text_clear(struct text *t)
{
    t->size = 0;
    t->failed = false;
    if (t->data)
        t->data[0] = 0;
}

void text_truncate(struct text *t, size_t n)
{
    while (n < t->size && (t->data[n] & 0xC0) == 0x80)
        n++;
    t->size = n;
    if (t->data)
        t->data[n] = 0;
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){ 0 };
}

void text_addf(struct text *t, const char *format, ...)
{
    char buf[256];
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(buf, sizeof buf, format, ap);
    va_end(ap);
    if (n > 0)
        text_add(t, buf, (size_t)n < sizeof buf ? (size_t)n : sizeof buf - 1);
}

size_t utf8_length(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80)
        return 1;
    const size_t length = p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    /* the range of the second byte excludes overlong forms, surrogates and above U+10FFFF */
    const unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

void text_add_repaired(struct text *t, const char *s, size_t n)
{
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        length = s[i] ? utf8_length(s + i, n - i) : 0;
        text_add(t, length ? s + i : REPLACEMENT, length ? length : 3);
    }
}

/* C1 controls U+0080 .. U+009F: some terminals execute them. */
static bool is_c1(const char *s, size_t length)
{
    return length == 2 && (unsigned char)s[0] == 0xC2 && (unsigned char)s[1] < 0xA0;
}

void text_add_escaped(struct text *t, const char *s, size_t n)
{
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        const unsigned char c = (unsigned char)s[i];
        length = utf8_length(s + i, n - i);
        const bool c1 = is_c1(s + i, length);
        if (!length)
            text_add(t, REPLACEMENT, 3);
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F || c1)
            text_addf(t, "\\x%02x", c1 ? (unsigned char)s[i + 1] : c);
        else
            text_add(t, s + i, length);
    }
}

void text_add_json(struct text *t, const char *s, size_t n)
{
    text_add(t, "\"", 1);
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        const unsigned char c = (unsigned char)s[i];
        length = utf8_length(s + i, n - i);
        if (!length)
            text_add(t, REPLACEMENT, 3);
        else if (c == '"' || c == '\\')
            text_addf(t, "\\%c", c);
        else if (c == '\n')
            text_add(t, "\\n", 2);
        else if (c < 0x20 || c == 0x7F)
            text_addf(t, "\\u%04x", c);
        else if (is_c1(s + i, length))
            text_addf(t, "\\u00%02x", (unsigned char)s[i + 1]);
        else
            text_add(t, s + i, length);
    }
    text_add(t, "\"", 1);
}

void text_add_call(struct text *t, const char *name, const char *arguments, bool for_people)
{
    text_addf(t, for_people ? "call: " : "{\"name\": ");
    if (for_people)
        text_add(t, name, strlen(name));
    else
        text_add_json(t, name, strlen(name));
    text_addf(t, for_people ? " " : ", \"arguments\": ");
    text_add(t, arguments, strlen(arguments));
    text_addf(t, for_people ? "\n" : "}\n");
}
