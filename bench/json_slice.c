/* SPDX-License-Identifier: Apache-2.0 */
#include "json_slice.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t skip_space(const char *text, size_t size, size_t i)
{
    while (i < size && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
        i++;
    return i;
}

/* The end of the string that begins at text[i]; 0: not closed. */
static size_t string_end(const char *text, size_t size, size_t i)
{
    for (i++; i < size; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '"')
            return i + 1;
    }
    return 0;
}

/* The end of the value that begins at text[i]; 0: malformed. */
static size_t value_end(const char *text, size_t size, size_t i)
{
    size_t depth = 0;
    const size_t first = i;
    while (i < size) {
        const char c = text[i];
        if (c == '"') {
            if ((i = string_end(text, size, i)) == 0)
                return 0;
        } else if (c == '{' || c == '[') {
            depth++;
            i++;
        } else if (c == '}' || c == ']') {
            if (depth == 0)
                return i > first ? i : 0;
            depth--;
            i++;
        } else if (depth == 0 && (c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t')) {
            return i > first ? i : 0;
        } else {
            i++;
            continue; /* a number or a name goes on */
        }
        if (depth == 0)
            return i;
    }
    return depth == 0 && i > first ? i : 0;
}

bool json_slice_value(const char *text, size_t size, struct json_slice *out)
{
    const size_t first = skip_space(text, size, 0), end = value_end(text, size, first);
    *out = (struct json_slice){ text + first, end > first ? end - first : 0 };
    return end > first;
}

bool json_slice_next(const struct json_slice *c, size_t *at, struct json_slice *key,
                     struct json_slice *value)
{
    const bool object = c->size > 0 && c->text[0] == '{';
    size_t i = skip_space(c->text, c->size, *at == 0 ? 1 : *at);
    if (c->size < 2 || (c->text[0] != '{' && c->text[0] != '[') || i >= c->size)
        return false;
    if (c->text[i] == ',')
        i = skip_space(c->text, c->size, i + 1);
    if (object) {
        const size_t end = c->text[i] == '"' ? string_end(c->text, c->size, i) : 0;
        if (end == 0)
            return false;
        if (key != NULL)
            *key = (struct json_slice){ c->text + i, end - i };
        i = skip_space(c->text, c->size, end);
        if (i >= c->size || c->text[i] != ':')
            return false;
        i = skip_space(c->text, c->size, i + 1);
    }
    const size_t end = value_end(c->text, c->size, i);
    if (end == 0 || c->text[i] == '}' || c->text[i] == ']')
        return false;
    *value = (struct json_slice){ c->text + i, end - i };
    *at = end;
    return true;
}

bool json_slice_get(const struct json_slice *object, const char *key, struct json_slice *out)
{
    struct json_slice k = { 0 }, v; /* elements of arrays have no key */
    const size_t n = strlen(key);
    for (size_t at = 0; json_slice_next(object, &at, &k, &v);)
        if (k.size == n + 2 && memcmp(k.text + 1, key, n) == 0) {
            *out = v;
            return true;
        }
    return false;
}

bool json_slice_is(const struct json_slice *v, const char *text)
{
    return v->size == strlen(text) && memcmp(v->text, text, v->size) == 0;
}

/* ---- Strings ---- */

static uint32_t hex4(const char *p)
{
    char digits[5] = { 0 };
    memcpy(digits, p, 4);
    return (uint32_t)strtoul(digits, NULL, 16);
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (unsigned i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(marks[n] | c);
    return n;
}

/* Reads an escape at p, behind the backslash, into *c. Its size; surrogates are joined. */
static size_t read_escape(const char *p, size_t size, uint32_t *c)
{
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
    const char *found = strchr(letters, p[0]);
    *c = (unsigned char)(found != NULL && p[0] != '\0' ? values[found - letters] : p[0]);
    if (p[0] != 'u' || size < 5)
        return 1;
    *c = hex4(p + 1);
    if (*c < 0xd800 || *c >= 0xdc00 || size < 11 || p[5] != '\\' || p[6] != 'u')
        return 5;
    const uint32_t low = hex4(p + 7);
    if (low < 0xdc00 || low >= 0xe000)
        return 5;
    *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
    return 11;
}

char *json_slice_string(const struct json_slice *v)
{
    char *out = malloc(v->size + 1);
    size_t n = 0;
    if (out == NULL)
        return NULL;
    for (size_t i = 1; v->size > 1 && v->text[0] == '"' && i + 1 < v->size; i++) {
        uint32_t c;
        if (v->text[i] != '\\') {
            out[n++] = v->text[i];
            continue;
        }
        i += read_escape(v->text + i + 1, v->size - i - 2, &c);
        n += put_utf8(out + n, c);
    }
    out[n] = '\0';
    return out;
}

/* Writes one escaped character as JSON must, or as it is. */
static size_t put_escaped(char *out, uint32_t c)
{
    static const char letters[] = "bfnrt\"\\", values[] = "\b\f\n\r\t\"\\";
    const char *found = c > 0 && c < 0x80 ? strchr(values, (int)c) : NULL;
    if (found != NULL) {
        out[0] = '\\';
        out[1] = letters[found - values];
        return 2;
    }
    if (c < 0x20 || (c >= 0xd800 && c < 0xe000))
        return (size_t)snprintf(out, 7, "\\u%04x", (unsigned)c);
    return put_utf8(out, c);
}

char *json_slice_write(const struct json_slice *v, bool compact, size_t *size)
{
    char *out = malloc(2 * v->size + 8);
    size_t n = 0;
    bool in_string = false;
    for (size_t i = 0; out != NULL && i < v->size; i++) {
        const char c = v->text[i];
        if (in_string && c == '\\') {
            uint32_t code;
            i += read_escape(v->text + i + 1, v->size - i - 1, &code);
            n += put_escaped(out + n, code);
            continue;
        }
        if (c == '"')
            in_string = !in_string;
        if (!in_string && (c == ' ' || c == '\n' || c == '\r' || c == '\t'))
            continue;
        out[n++] = c;
        if (!in_string && !compact && (c == ',' || c == ':'))
            out[n++] = ' ';
    }
    if (out != NULL)
        out[n] = '\0';
    *size = n;
    return out;
}
