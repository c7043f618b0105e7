/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - parses untrusted JSON into an index over its text. */
#include "json/parse.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/name_index.h"
#include "base/utf8.h"
#include <string.h>

enum {
    FREE_INDEX_BYTES = 4 << 20, /* index of a short text, whatever its values */
    FEW_KEYS = 8,               /* compared in pairs */
};

/* Stands before the root. Aligned, so that the nodes start at a multiple of 16 bytes. */
struct document {
    const struct quire_allocator *allocator;
    size_t bytes; /* of the allocation: document, nodes, text, terminator */
};

struct parser {
    struct qr_json *nodes;
    uint32_t n, capacity;
    char *text, *p, *end; /* *end is NUL, so that one character of lookahead needs no check */
    struct qr_json *open[QR_JSON_MAX_DEPTH];
    int depth;
    unsigned line;
    uint32_t flags;
    struct qr_json_error *error;
};

/* ---- Errors */

static bool fail_at(struct parser *s, const char *at, quire_status code, const char *text)
{
    *s->error = (struct qr_json_error){ code, text, (size_t)(at - s->text), s->line, "" };
    return false;
}

static bool fail(struct parser *s, const char *text)
{
    return fail_at(s, s->p, QUIRE_E_FORMAT, s->p == s->end ? "unexpected end" : text);
}

/* ---- Scalars */

static void skip_space(struct parser *s)
{
    for (;; s->p++)
        if (*s->p == '\n')
            s->line++;
        else if (*s->p != ' ' && *s->p != '\t' && *s->p != '\r')
            return;
}

static bool read_hex4(const char *p, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i], lower = (char)(c | 0x20);
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            digit = (uint32_t)(lower - 'a' + 10);
        else
            return false; /* also at the terminator */
        *out = *out << 4 | digit;
    }
    return true;
}

/* \uXXXX at s->p, or a pair of surrogates. */
static bool read_unicode_escape(struct parser *s, uint32_t *out)
{
    uint32_t low;
    if (!read_hex4(s->p + 2, out))
        return fail(s, "\\u needs four hexadecimal digits");
    if (*out == 0)
        return fail(s, "the string contains U+0000");
    if (*out < 0xD800 || *out > 0xDFFF) {
        s->p += 6;
        return true;
    }
    if (*out > 0xDBFF || s->p[6] != '\\' || s->p[7] != 'u' || !read_hex4(s->p + 8, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return fail(s, "surrogate without its other half");
    *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    s->p += 12;
    return true;
}

/* Unescapes at *to, which is not beyond s->p: no escape is shorter than its character. */
static bool read_escape(struct parser *s, char **to)
{
    static const char escapes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = s->p[1];
    uint32_t cp;
    if (c == 'u') {
        if (!read_unicode_escape(s, &cp))
            return false;
        *to += qr_utf8_put((uint8_t *)*to, cp);
        return true;
    }
    const char *found = c ? strchr(escapes, c) : NULL;
    if (!found)
        return fail(s, "invalid escape");
    *(*to)++ = values[found - escapes];
    s->p += 2;
    return true;
}

/* A string at s->p, unescaped in place and terminated. */
static bool read_string(struct parser *s)
{
    uint32_t cp;
    char *to = ++s->p;
    while (*s->p != '"') {
        const unsigned char c = (unsigned char)*s->p;
        int n = 1;
        if (c == '\\') {
            if (!read_escape(s, &to))
                return false;
            continue;
        }
        if (c < 0x20)
            return fail(s, "control character in a string");
        if (c >= 0x80 &&
            (n = qr_utf8_next_final((const uint8_t *)s->p, (size_t)(s->end - s->p), &cp)) < 0)
            return fail(s, "invalid UTF-8");
        if (to == s->p) {
            to += n;
            s->p += n;
        } else {
            for (; n > 0; n--)
                *to++ = *s->p++;
        }
    }
    s->p++;
    *to = 0;
    return true;
}

bool qr_json_read_integer(const char *p, size_t n, int64_t *out)
{
    const bool negative = n && *p == '-';
    *out = 0;
    for (size_t i = negative; i < n; i++) {
        const int64_t digit = p[i] - '0';
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, negative ? -digit : digit, out))
            return false;
    }
    return true;
}

static size_t count_digits(const char *p)
{
    size_t n = 0;
    while (p[n] >= '0' && p[n] <= '9')
        n++;
    return n;
}

/* Whether digits * 10^exponent is 1e309 or more. `p` has the digits of the number, n of them before
 * its point. Smaller numbers can still round to infinity: qr_json_number decides. */
static bool too_large(const char *p, size_t n, const char *exponent)
{
    int64_t e = 0, magnitude = (int64_t)n;
    const bool negative = exponent && *exponent == '-';
    for (; exponent && *exponent; exponent++)
        if (*exponent >= '0' && *exponent <= '9')
            e = e < INT64_MAX / 100 ? 10 * e + (*exponent - '0') : e;
        else if (*exponent != '+' && *exponent != '-')
            break;
    for (; *p == '0' || *p == '.'; p++) /* leading zeros */
        magnitude -= *p == '0';
    return *p >= '1' && *p <= '9' && (negative ? magnitude - e : magnitude + e) > 309;
}

static bool read_number(struct parser *s)
{
    const char *begin = s->p;
    const char *digits = s->p += *s->p == '-';
    const char *exponent = NULL;
    int64_t value;
    const size_t n = count_digits(digits);
    if (!n)
        return fail(s, "expected a value");
    if (n > 1 && *digits == '0')
        return fail(s, "a number begins with 0");
    s->p += n;
    const bool integer = *s->p != '.' && *s->p != 'e' && *s->p != 'E';
    if (*s->p == '.') {
        const size_t fraction = count_digits(++s->p);
        if (!fraction)
            return fail(s, "no digit after the decimal point");
        s->p += fraction;
    }
    if (*s->p == 'e' || *s->p == 'E') {
        exponent = ++s->p;
        s->p += *s->p == '+' || *s->p == '-';
        const size_t size = count_digits(s->p);
        if (!size)
            return fail(s, "no digit in the exponent");
        s->p += size;
    }
    if (integer && !(s->flags & QR_JSON_ALLOW_BIG_INTEGERS) &&
        !qr_json_read_integer(begin, (size_t)(s->p - begin), &value))
        return fail_at(s, begin, QUIRE_E_RANGE, "the integer does not fit 64 bits");
    if (too_large(digits, n, exponent))
        return fail_at(s, begin, QUIRE_E_RANGE, "the number is too large");
    return true;
}

static bool read_word(struct parser *s, const char *word, size_t n)
{
    if (strncmp(s->p, word, n) != 0)
        return fail(s, "expected a value");
    s->p += n;
    return true;
}

/* ---- Structure */

/* Adds a node for the character at s->p. The capacity suffices for a valid text. */
static bool add_node(struct parser *s)
{
    /* GCOVR_EXCL_BR_LINE: count_nodes counts a node wherever a key or value can begin, so the
     * nodes suffice for invalid texts too. */
    if (s->n + 2 > s->capacity) /* a container takes a second one */
        return fail(s, "unexpected value");
    s->nodes[s->n].at = (uint32_t)(s->p - (const char *)&s->nodes[s->n]);
    s->n++;
    return true;
}

static bool read_key(struct parser *s)
{
    skip_space(s);
    if (*s->p != '"')
        return fail(s, "expected a key in quotes");
    if (!add_node(s)) /* GCOVR_EXCL_BR_LINE as in add_node */
        return false;
    if (!read_string(s))
        return false;
    skip_space(s);
    if (*s->p != ':')
        return fail(s, "expected ':' after a key");
    s->p++;
    return true;
}

/* An opening bracket at s->p. A container without contents is complete after the call, and
 * *has_contents false. */
static bool open_container(struct parser *s, bool *has_contents)
{
    char *bracket = s->p;
    const char close = *bracket == '{' ? '}' : ']';
    if (s->depth == QR_JSON_MAX_DEPTH)
        return fail(s, "nested deeper than 64 levels");
    if (!add_node(s)) /* GCOVR_EXCL_BR_LINE as in add_node */
        return false;
    s->p++;
    skip_space(s);
    *has_contents = *s->p != close;
    if (!*has_contents) {
        *bracket = close == '}' ? QR_JSON_EMPTY_OBJECT : QR_JSON_EMPTY_ARRAY;
        s->p++;
        return true;
    }
    s->open[s->depth++] = &s->nodes[s->n - 1];
    s->n++;
    return *bracket == '[' || read_key(s);
}

/* After a value: closes the containers that end here. Leaves s->p at the next value; or depth is 0
 * at the end of the text. */
static bool end_value(struct parser *s)
{
    for (skip_space(s); s->depth; skip_space(s)) {
        struct qr_json *container = s->open[s->depth - 1];
        const bool object = *qr_json_text(container) == '{';
        if (*s->p == ',') {
            s->p++;
            return !object || read_key(s);
        }
        if (*s->p != (object ? '}' : ']'))
            return fail(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
        s->p++;
        s->depth--;
        container[1].at = (uint32_t)(&s->nodes[s->n] - container);
    }
    if (s->p != s->end)
        return fail(s, "text after the value");
    return true;
}

static bool read_value(struct parser *s)
{
    bool has_contents = true;
    skip_space(s);
    while (*s->p == '{' || *s->p == '[') {
        if (!open_container(s, &has_contents))
            return false;
        if (!has_contents)
            return true;
        skip_space(s);
    }
    if (!add_node(s)) /* GCOVR_EXCL_BR_LINE as in add_node */
        return false;
    switch (*s->p) {
    case '"':
        return read_string(s);
    case 't':
        return read_word(s, "true", 4);
    case 'f':
        return read_word(s, "false", 5);
    case 'n':
        return read_word(s, "null", 4);
    default:
        return read_number(s);
    }
}

static bool read_document(struct parser *s)
{
    do
        if (!read_value(s) || !end_value(s))
            return false;
    while (s->depth);
    return true;
}

/* ---- Duplicate keys */

static const char *key_name(const void *owner, uint32_t i, size_t *len)
{
    const char *key = qr_json_string((const struct qr_json *)owner + i);
    *len = strlen(key);
    return key;
}

/* The second of two equal keys, or NULL. */
static const char *find_duplicate(const struct qr_json *object)
{
    for (struct qr_json_iter i = qr_json_iterate(object); qr_json_next(&i);)
        for (struct qr_json_iter k = i; qr_json_next(&k);)
            if (strcmp(i.key, k.key) == 0)
                return k.key;
    return NULL;
}

/* The same for many keys. The names of the index are the numbers of the keys' nodes. */
static const char *find_indexed_duplicate(const struct parser *s, const struct qr_json *object,
                                          struct qr_name_index *index)
{
    for (struct qr_json_iter i = qr_json_iterate(object); qr_json_next(&i);) {
        const uint32_t key = (uint32_t)(i.value - 1 - s->nodes);
        if (qr_name_index_add(index, s->nodes, key_name, key) != key)
            return i.key;
    }
    return NULL;
}

static bool check_object(struct parser *s, const struct qr_json *object,
                         const struct quire_allocator *a)
{
    const size_t n = qr_json_size(object);
    const char *key;
    if (n <= FEW_KEYS) {
        key = find_duplicate(object);
    } else {
        struct qr_name_index index;
        if (!qr_name_index_init(&index, n, a))
            return fail_at(s, s->text, QUIRE_E_NOMEM, "no memory");
        key = find_indexed_duplicate(s, object, &index);
        qr_name_index_free(&index, a);
    }
    if (!key)
        return true;
    fail_at(s, key - 1, QUIRE_E_FORMAT, "duplicate key");
    size_t cut = strnlen(key, sizeof s->error->key - 1);
    while (key[cut] && qr_utf8_is_continuation((uint8_t)key[cut]))
        cut--;
    memcpy(s->error->key, key, cut);
    return false;
}

static bool check_keys(struct parser *s, const struct quire_allocator *a)
{
    s->line = 0; /* lines are counted while parsing */
    for (uint32_t i = 0; i < s->n;) {
        const struct qr_json *v = &s->nodes[i];
        const char c = *qr_json_text(v);
        if (c == '{' && !check_object(s, v, a))
            return false;
        i += c == '{' || c == '[' ? 2 : 1;
    }
    return true;
}

/* ---- Document */

/* The number of nodes of a valid text: one per element, key and member value, two for a container
 * with contents. */
static size_t count_nodes(const char *text, size_t size)
{
    size_t n = 1;
    char before = 0; /* the last character outside strings and white space */
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (c == '"')
            for (i++; i < size && text[i] != '"'; i++)
                i += text[i] == '\\';
        else if (c == ',' || c == ':')
            n++;
        else if (c == '{' || c == '[')
            n += 2; /* its second node, and its first element or key */
        else if ((c == '}' && before == '{') || (c == ']' && before == '['))
            n -= 2;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            continue;
        before = c;
    }
    return n;
}

static struct document *document_of(struct qr_json *root)
{
    return (struct document *)(void *)root - 1;
}

void qr_json_free(struct qr_json *root)
{
    if (root)
        qr_free(document_of(root)->allocator, document_of(root), document_of(root)->bytes, 1);
}

struct qr_json *qr_json_parse(const char *text, size_t size, uint32_t flags,
                              const struct quire_allocator *a, struct qr_json_error *error)
{
    struct parser s = { .line = 1, .flags = flags, .error = error };
    size_t n, bytes;
    *error = (struct qr_json_error){ QUIRE_E_LIMIT, "the text has more than 1 GiB", 0, 1, "" };
    if (size > QR_JSON_MAX_BYTES)
        return NULL;
    n = count_nodes(text, size) + 1; /* one spare: see add_node */
    error->text = "too many values for the size of the text";
    if (n > (2 * size + FREE_INDEX_BYTES) / sizeof *s.nodes)
        return NULL;
    bytes = sizeof(struct document) + n * sizeof *s.nodes + size + 1;
    struct document *d = qr_alloc(a, bytes, 1);
    *error = (struct qr_json_error){ QUIRE_E_NOMEM, "no memory", 0, 1, "" };
    if (!d)
        return NULL;
    *d = (struct document){ a, bytes };
    s.nodes = (struct qr_json *)(void *)(d + 1);
    s.capacity = (uint32_t)n;
    s.p = s.text = (char *)(s.nodes + n);
    s.end = s.text + size;
    if (size)
        memcpy(s.text, text, size);
    *s.end = 0;
    if (read_document(&s) && (flags & QR_JSON_ALLOW_DUPLICATES || check_keys(&s, a)))
        return s.nodes;
    qr_json_free(s.nodes);
    return NULL;
}
