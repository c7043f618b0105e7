/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_header.c - pull parser for the JSON subset of safetensors headers. */
#include "format/safetensors_header.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"
#include <string.h>

/* A generic JSON tree would need ten times the header's size in memory; this parser works in place.
 * Grammar: { "name": { "dtype": "..", "shape": [..], "data_offsets": [b, e] }, ...,
 * "__metadata__": { "key": "value", ... } }, padded with spaces. */
struct parser {
    char *text;
    size_t size, pos;
    struct quire_error *err;
};

static quire_status bad(const struct parser *p, const char *what)
{
    return qr_fail_at(p->err, QUIRE_E_FORMAT, 8 + p->pos, "safetensors header: %s at byte %zu",
                      what, 8 + p->pos);
}

static void skip_space(struct parser *p)
{
    while (p->pos < p->size && (p->text[p->pos] == ' ' || p->text[p->pos] == '\n' ||
                                p->text[p->pos] == '\r' || p->text[p->pos] == '\t'))
        p->pos++;
}

static bool accept(struct parser *p, char c)
{
    skip_space(p);
    if (p->pos >= p->size || p->text[p->pos] != c)
        return false;
    p->pos++;
    return true;
}

static quire_status expect(struct parser *p, char c, const char *what)
{
    return accept(p, c) ? QUIRE_OK : bad(p, what);
}

/* ---- Strings. Unescaped text is never longer than its source, so it can replace it in place. */

struct text {
    char *s;
    size_t len;
};

static bool hex4(const char *s, uint32_t *v)
{
    *v = 0;
    for (int i = 0; i < 4; i++) {
        const char c = s[i];
        const int d = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
        /* GCOVR_EXCL_BR_LINE: the conditions above decide. */
        if (d < 0)
            return false;
        *v = *v << 4 | (uint32_t)d;
    }
    return true;
}

/* Reads the escape sequence at the current position, a backslash, as a code point. */
static quire_status read_escape(struct parser *p, uint32_t *v)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (p->size - p->pos < 2)
        return bad(p, "unterminated string");
    const char c = p->text[p->pos + 1];
    const char *simple = memchr(from, c, sizeof from - 1);
    if (simple) {
        *v = (uint8_t)to[simple - from];
        p->pos += 2;
        return QUIRE_OK;
    }
    if (c != 'u' || p->size - p->pos < 6 || !hex4(p->text + p->pos + 2, v))
        return bad(p, "invalid escape");
    uint32_t low;
    size_t n = 6;
    if (*v >= 0xd800 && *v <= 0xdbff && p->size - p->pos >= 12 &&
        memcmp(p->text + p->pos + 6, "\\u", 2) == 0 && hex4(p->text + p->pos + 8, &low) &&
        low >= 0xdc00 && low <= 0xdfff) {
        *v = 0x10000 + ((*v - 0xd800) << 10) + (low - 0xdc00);
        n = 12;
    }
    if (*v == 0 || (*v >= 0xd800 && *v <= 0xdfff))
        return bad(p, *v ? "lone surrogate" : "NUL character");
    p->pos += n;
    return QUIRE_OK;
}

/* With decode, unescapes the text in place and NUL-terminates it, so the header cannot be parsed
 * again. Without, *t is the raw text, valid for comparison with strings that need no escapes. */
static quire_status read_string(struct parser *p, bool decode, struct text *t)
{
    QR_TRY(expect(p, '"', "string expected"));
    const size_t begin = p->pos;
    size_t out = begin;
    for (;;) {
        if (p->pos >= p->size)
            return bad(p, "unterminated string");
        const uint8_t c = (uint8_t)p->text[p->pos];
        if (c == '"')
            break;
        if (c < 0x20)
            return bad(p, "control character in a string");
        uint32_t v = 0;
        if (c == '\\') {
            QR_TRY(read_escape(p, &v));
            if (decode)
                out += qr_utf8_put((uint8_t *)p->text + out, v);
            continue;
        }
        const int len = qr_utf8_next_final((const uint8_t *)p->text + p->pos, p->size - p->pos, &v);
        if (len < 0)
            return bad(p, "invalid UTF-8");
        const size_t n = (size_t)len;
        if (decode)
            memmove(p->text + out, p->text + p->pos, n);
        out += n;
        p->pos += n;
    }
    *t = (struct text){ p->text + begin, decode ? out - begin : p->pos - begin };
    if (decode)
        p->text[out] = 0;
    p->pos++;
    return QUIRE_OK;
}

static bool text_is(const struct text *t, const char *s)
{
    return t->len == strlen(s) && memcmp(t->s, s, t->len) == 0;
}

/* ---- Values */

static quire_status read_u64(struct parser *p, uint64_t *v)
{
    skip_space(p);
    const size_t begin = p->pos;
    *v = 0;
    for (; p->pos < p->size && p->text[p->pos] >= '0' && p->text[p->pos] <= '9'; p->pos++)
        if (!qr_mul_u64(*v, 10, v) || !qr_add_u64(*v, (uint64_t)(p->text[p->pos] - '0'), v))
            return bad(p, "number too large");
    if (p->pos == begin)
        return bad(p, "non-negative integer expected");
    if (p->text[begin] == '0' && p->pos - begin > 1)
        return bad(p, "number with a leading zero");
    return QUIRE_OK;
}

static quire_status read_list(struct parser *p, uint64_t *v, size_t max, size_t *n)
{
    *n = 0;
    QR_TRY(expect(p, '[', "[ expected"));
    if (accept(p, ']'))
        return QUIRE_OK;
    do {
        if (*n == max)
            return bad(p, "list with too many numbers");
        QR_TRY(read_u64(p, &v[(*n)++]));
    } while (accept(p, ','));
    return expect(p, ']', "number, comma or ] expected");
}

static quire_status read_dtype(struct parser *p, struct qr_safetensor *t)
{
    struct text s;
    QR_TRY(read_string(p, false, &s));
    enum qr_dtype dtype;
    if (!qr_dtype_from_name(s.s, s.len, &dtype))
        return qr_fail_at(p->err, QUIRE_E_UNSUPPORTED, 8 + p->pos,
                          "safetensors header: unknown dtype %.*s at byte %zu",
                          s.len < 32 ? (int)s.len : 32, s.s, 8 + p->pos);
    t->dtype = (uint8_t)dtype;
    return QUIRE_OK;
}

static quire_status check_size(const struct parser *p, const struct qr_safetensor *t,
                               const uint64_t offsets[2])
{
    uint64_t bytes = qr_dtype_bytes(t->dtype);
    for (unsigned d = 0; d < t->n_dims; d++)
        if (t->shape[d] == 0 || !qr_mul_u64(bytes, t->shape[d], &bytes))
            return bad(p, "shape with a zero or with more elements than fit in 64 bits");
    if (offsets[1] < offsets[0] || offsets[1] - offsets[0] != bytes)
        return bad(p, "data_offsets do not match shape and dtype");
    return QUIRE_OK;
}

/* Parses the value of a tensor entry. */
static quire_status read_tensor(struct parser *p, struct qr_safetensor *t)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    unsigned seen = 0;
    uint64_t offsets[2];
    size_t n;
    QR_TRY(expect(p, '{', "{ expected"));
    do {
        struct text key;
        QR_TRY(read_string(p, false, &key));
        QR_TRY(expect(p, ':', ": expected"));
        const unsigned bit = text_is(&key, "dtype")          ? DTYPE
                             : text_is(&key, "shape")        ? SHAPE
                             : text_is(&key, "data_offsets") ? OFFSETS
                                                             : 0;
        if (bit == 0 || (seen & bit))
            return bad(p, "unknown or repeated field of a tensor");
        seen |= bit;
        if (bit == DTYPE) {
            QR_TRY(read_dtype(p, t));
        } else if (bit == SHAPE) {
            QR_TRY(read_list(p, t->shape, QR_SAFETENSORS_MAX_DIMS, &n));
            t->n_dims = (uint8_t)n;
        } else {
            QR_TRY(read_list(p, offsets, 2, &n));
            if (n != 2)
                return bad(p, "data_offsets needs two numbers");
        }
    } while (accept(p, ','));
    QR_TRY(expect(p, '}', "comma or } expected"));
    if (seen != (DTYPE | SHAPE | OFFSETS))
        return bad(p, "tensor without dtype, shape or data_offsets");
    t->offset = offsets[0];
    t->bytes = offsets[1] - offsets[0];
    return check_size(p, t, offsets);
}

static quire_status skip_metadata(struct parser *p)
{
    struct text t;
    QR_TRY(expect(p, '{', "__metadata__ must be an object: {"));
    if (accept(p, '}'))
        return QUIRE_OK;
    do {
        QR_TRY(read_string(p, false, &t));
        QR_TRY(expect(p, ':', ": expected"));
        QR_TRY(read_string(p, false, &t));
    } while (accept(p, ','));
    return expect(p, '}', "comma or } expected");
}

/* Parses one entry. *is_tensor: whether it is a tensor or __metadata__. */
static quire_status read_entry(struct parser *p, bool decode, bool *metadata, bool *is_tensor,
                               struct qr_safetensor *t)
{
    struct text name;
    QR_TRY(read_string(p, decode, &name));
    QR_TRY(expect(p, ':', ": expected"));
    *is_tensor = !text_is(&name, "__metadata__");
    if (!*is_tensor) {
        if (*metadata)
            return bad(p, "second __metadata__");
        *metadata = true;
        return skip_metadata(p);
    }
    if (name.len == 0 || name.len > UINT32_MAX)
        return bad(p, "empty tensor name");
    *t = (struct qr_safetensor){ .name = name.s, .name_len = (uint32_t)name.len };
    return read_tensor(p, t);
}

quire_status qr_safetensors_parse(char *header, size_t bytes, struct qr_safetensor *tensors,
                                  size_t *count, struct quire_error *err)
{
    struct parser p = { .text = header, .size = bytes, .err = err };
    bool metadata = false, is_tensor = false;
    size_t n = 0;
    *count = 0;
    if (bytes == 0 || header[0] != '{')
        return bad(&p, "{ expected");
    p.pos = 1;
    if (!accept(&p, '}')) {
        do {
            struct qr_safetensor t;
            QR_TRY(read_entry(&p, tensors != NULL, &metadata, &is_tensor, &t));
            if (is_tensor && tensors)
                tensors[n] = t;
            n += is_tensor;
        } while (accept(&p, ','));
        QR_TRY(expect(&p, '}', "comma or } expected"));
    }
    skip_space(&p);
    if (p.pos != bytes)
        return bad(&p, "text after the header");
    *count = n;
    return QUIRE_OK;
}
