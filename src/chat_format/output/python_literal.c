/* SPDX-License-Identifier: Apache-2.0 */
/* python_literal.c - a recursive-descent converter of Python literals to JSON. */
#include "chat_format/output/python_literal.h"
#include "base/utf8.h"
#include <string.h>

enum { MAX_DEPTH = 64, MAX_EXPONENT = 308 };

struct reader {
    const struct quire_allocator *a;
    const char *text;
    size_t at, size;
    unsigned depth;
    bool *memory;
};

static bool literal(struct reader *r, struct qr_bytes *out, enum qr_python_context context);

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

static int peek(const struct reader *r)
{
    return r->at < r->size ? (unsigned char)r->text[r->at] : -1;
}

static int peek_token(struct reader *r)
{
    while (r->at < r->size && is_space(r->text[r->at]))
        r->at++;
    return peek(r);
}

/* Appends text. Without memory the text is read on, so that only the caller has to look at
 * *r->memory. */
static void put(struct reader *r, struct qr_bytes *out, const char *text, size_t size)
{
    *r->memory = qr_bytes_append(r->a, out, text, size) && *r->memory;
}

static void put_escaped(struct reader *r, struct qr_bytes *out, const char *text, size_t size)
{
    *r->memory = qr_bytes_append_escaped(r->a, out, text, size) && *r->memory;
}

/* ---- The end of strings */

static size_t skip_space(const char *text, size_t i, size_t size)
{
    while (i < size && is_space(text[i]))
        i++;
    return i;
}

int qr_python_quote_ends(const char *text, size_t at, size_t size, bool final,
                         enum qr_python_context context)
{
    const int at_end = final ? 1 : -1;
    size_t i = skip_space(text, at + 1, size);
    if (i == size)
        return at_end;
    const char c = text[i];
    if (context == QR_PYTHON_ITEM)
        return c == ',' || c == ']' || c == '}' || c == ')' || c == ':';
    if (c != ',' && c != ')')
        return 0;
    const size_t after = i + 1;
    i = skip_space(text, after, size);
    if (i == size)
        return at_end;
    if (c == ')') /* the end of the call: of the list, the next call, or a marker */
        return i > after || memchr(",]<;[", text[i], 5) != NULL;
    if (text[i] == ')')
        return 1;
    const size_t name = i;
    while (i < size && is_name(text[i]))
        i++;
    if (i == name)
        return 0;
    i = skip_space(text, i, size);
    return i == size ? at_end : text[i] == '=';
}

/* ---- Strings */

/* Reads n hexadecimal digits. */
static bool hex(struct reader *r, unsigned n, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < n; i++, r->at++) {
        const int c = peek(r);
        const int low = c | 32;
        if (c >= '0' && c <= '9')
            *value = *value << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            *value = *value << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Encodes a code point as JSON text. Surrogates, which pair up in Python sources too, become
 * JSON escapes. */
static void put_code(struct reader *r, struct qr_bytes *out, uint32_t cp)
{
    static const char digits[] = "0123456789abcdef";
    if (cp >= 0xD800 && cp < 0xE000) {
        const char e[] = { '\\',           'u', 'd', digits[cp >> 8 & 15], digits[cp >> 4 & 15],
                           digits[cp & 15] };
        put(r, out, e, sizeof e);
        return;
    }
    char utf8[QR_UTF8_MAX];
    const size_t n = qr_utf8_put((uint8_t *)utf8, cp > 0x10FFFF ? QR_UTF8_REPLACEMENT : cp);
    put_escaped(r, out, utf8, n);
}

/* An escape whose backslash has been read. Unknown ones keep their backslash, as in Python. */
static bool escape(struct reader *r, struct qr_bytes *out)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    uint32_t cp = 0;
    if (r->at == r->size)
        return false;
    const char c = r->text[r->at++];
    const char *const simple = memchr(from, c, sizeof from - 1);
    if (simple)
        put_escaped(r, out, &to[simple - from], 1);
    else if (c == 'x' || c == 'u' || c == 'U') {
        if (!hex(r, c == 'x' ? 2 : c == 'u' ? 4 : 8, &cp))
            return false;
        put_code(r, out, cp);
    } else if (c >= '0' && c <= '7') {
        cp = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && peek(r) >= '0' && peek(r) <= '7'; i++)
            cp = cp * 8 + (uint32_t)(r->text[r->at++] - '0');
        put_code(r, out, cp);
    } else if (c != '\n') { /* a line break after a backslash is none */
        put(r, out, "\\\\", 2);
        put_escaped(r, out, &c, 1);
    }
    return true;
}

static bool string(struct reader *r, struct qr_bytes *out, enum qr_python_context context, bool raw)
{
    const char quote = r->text[r->at];
    const bool triple =
        r->size - r->at >= 6 && r->text[r->at + 1] == quote && r->text[r->at + 2] == quote;
    r->at += triple ? 3 : 1;
    put(r, out, "\"", 1);
    while (r->at < r->size) {
        const char c = r->text[r->at];
        if (c == quote && triple && r->size - r->at >= 3 && r->text[r->at + 1] == quote &&
            r->text[r->at + 2] == quote) {
            r->at += 3;
            put(r, out, "\"", 1);
            return true;
        }
        if (c == quote && !triple &&
            qr_python_quote_ends(r->text, r->at, r->size, true, context) == 1) {
            r->at++;
            put(r, out, "\"", 1);
            return true;
        }
        r->at++;
        if (c != '\\' || raw)
            put_escaped(r, out, &c, 1);
        else if (!escape(r, out))
            return false;
    }
    return false;
}

/* ---- Numbers and names */

static size_t digits(struct reader *r, struct qr_bytes *out)
{
    size_t n = 0;
    while (is_digit((char)peek(r)) || (n > 0 && peek(r) == '_')) {
        const char c = r->text[r->at++];
        if (c != '_') {
            put(r, out, &c, 1);
            n++;
        }
    }
    return n;
}

static bool exponent(struct reader *r, struct qr_bytes *out, size_t whole)
{
    size_t value = 0;
    const bool negative = r->at + 1 < r->size && r->text[r->at + 1] == '-';
    r->at++;
    if (peek(r) == '+' || peek(r) == '-')
        r->at++;
    put(r, out, negative ? "e-" : "e", negative ? 2 : 1);
    const size_t at = out->size;
    if (digits(r, out) == 0)
        return false;
    for (size_t i = at; i < out->size && value < 100000; i++)
        value = value * 10 + (size_t)(out->data[i] - '0');
    return negative || whole + value <= MAX_EXPONENT + 1;
}

static bool number(struct reader *r, struct qr_bytes *out)
{
    if (peek(r) == '+')
        r->at++;
    else if (peek(r) == '-') {
        r->at++;
        put(r, out, "-", 1);
    }
    while (peek(r) == '0' && r->at + 1 < r->size && is_digit(r->text[r->at + 1]))
        r->at++;
    const size_t whole = digits(r, out);
    if (whole > MAX_EXPONENT + 1 || (whole == 0 && peek(r) != '.'))
        return false;
    if (whole == 0)
        put(r, out, "0", 1);
    if (peek(r) == '.') {
        r->at++;
        put(r, out, ".", 1);
        const size_t n = digits(r, out);
        if (n == 0 && whole == 0)
            return false;
        if (n == 0)
            put(r, out, "0", 1);
    }
    if ((peek(r) | 32) == 'e' && !exponent(r, out, whole))
        return false;
    return !is_name((char)peek(r)); /* -1, the end, is no name either */
}

static bool word(struct reader *r, struct qr_bytes *out, enum qr_python_context context)
{
    static const char *const words[][2] = {
        { "None", "null" }, { "True", "true" }, { "False", "false" },
        { "null", "null" }, { "true", "true" }, { "false", "false" },
    };
    const size_t start = r->at;
    while (r->at < r->size && is_name(r->text[r->at]))
        r->at++;
    const size_t n = r->at - start;
    if (n == 1 && (peek(r) == '"' || peek(r) == '\'') && strchr("rRuU", r->text[start]))
        return string(r, out, context, (r->text[start] | 32) == 'r');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == n && memcmp(words[i][0], r->text + start, n) == 0) {
            put(r, out, words[i][1], strlen(words[i][1]));
            return true;
        }
    return false;
}

/* ---- Containers */

/* Items after the opening bracket, up to `close`. */
static bool items(struct reader *r, struct qr_bytes *out, char close)
{
    for (bool first = true; peek_token(r) != close; first = false) {
        if (!first) {
            if (peek(r) != ',')
                return false;
            r->at++;
            if (peek_token(r) == close)
                break;
            put(r, out, ", ", 2);
        }
        if (!literal(r, out, QR_PYTHON_ITEM))
            return false;
    }
    r->at++;
    return true;
}

/* A key as a JSON string: numbers and names get quotes. */
static void put_key(struct reader *r, struct qr_bytes *out, const struct qr_bytes *key)
{
    const bool quoted = key->size > 0 && key->data[0] == '"'; /* 0: out of memory */
    put(r, out, "\"", quoted ? 0 : 1);
    put(r, out, key->data, key->size);
    put(r, out, quoted ? ": " : "\": ", quoted ? 2 : 3);
}

/* The members after the first key, which has been read, up to `}`. */
static bool members(struct reader *r, struct qr_bytes *out, struct qr_bytes *key)
{
    for (;;) {
        if (key->size > 0 && (key->data[0] == '{' || key->data[0] == '['))
            return false;
        if (peek_token(r) != ':')
            return false;
        r->at++;
        put_key(r, out, key);
        if (!literal(r, out, QR_PYTHON_ITEM))
            return false;
        if (peek_token(r) == ',')
            r->at++;
        else if (peek(r) != '}')
            return false;
        if (peek_token(r) == '}') {
            r->at++;
            put(r, out, "}", 1);
            return true;
        }
        key->size = 0;
        put(r, out, ", ", 2);
        if (!literal(r, key, QR_PYTHON_ITEM))
            return false;
    }
}

/* A dict, or a set, which becomes an array. */
static bool braces(struct reader *r, struct qr_bytes *out)
{
    struct qr_bytes first = { 0 };
    if (peek_token(r) == '}') {
        r->at++;
        put(r, out, "{}", 2);
        return true;
    }
    bool ok = literal(r, &first, QR_PYTHON_ITEM);
    if (ok && peek_token(r) == ':') {
        put(r, out, "{", 1);
        ok = members(r, out, &first);
    } else if (ok) {
        put(r, out, "[", 1);
        put(r, out, first.data, first.size);
        if (peek(r) == ',') {
            r->at++;
            put(r, out, ", ", peek_token(r) == '}' ? 0 : 2);
            ok = items(r, out, '}');
        } else {
            ok = peek(r) == '}';
            r->at++;
        }
        put(r, out, "]", 1);
    }
    qr_bytes_free(r->a, &first);
    return ok;
}

static bool literal(struct reader *r, struct qr_bytes *out, enum qr_python_context context)
{
    const int c = peek_token(r);
    if (c < 0 || r->depth == MAX_DEPTH)
        return false;
    if (c == '"' || c == '\'')
        return string(r, out, context, false);
    if (c == '+' || c == '-' || c == '.' || is_digit((char)c))
        return number(r, out);
    if (c != '[' && c != '(' && c != '{')
        return word(r, out, context);
    r->at++;
    r->depth++;
    bool ok;
    if (c == '{')
        ok = braces(r, out);
    else {
        put(r, out, "[", 1);
        ok = items(r, out, c == '[' ? ']' : ')');
        put(r, out, "]", 1);
    }
    r->depth--;
    return ok;
}

bool qr_python_literal(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                       size_t size, bool *memory)
{
    struct reader r = { .a = a, .text = text, .size = size, .memory = memory };
    return literal(&r, out, QR_PYTHON_ITEM) && peek_token(&r) < 0 && *memory;
}

bool qr_python_arguments(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                         size_t size, bool *memory)
{
    struct reader r = { .a = a, .text = text, .size = size, .memory = memory };
    put(&r, out, "{", 1);
    for (bool first = true; peek_token(&r) >= 0; first = false) {
        const size_t name = r.at;
        while (r.at < size && is_name(text[r.at]))
            r.at++;
        const size_t n = r.at - name;
        if (n == 0 || peek_token(&r) != '=')
            return false;
        r.at++;
        put(&r, out, first ? "\"" : ", \"", first ? 1 : 3);
        put(&r, out, text + name, n);
        put(&r, out, "\": ", 3);
        if (!literal(&r, out, QR_PYTHON_ARGUMENT))
            return false;
        if (peek_token(&r) == ',')
            r.at++;
        else if (peek(&r) >= 0)
            return false;
    }
    put(&r, out, "}", 1);
    return *memory;
}
