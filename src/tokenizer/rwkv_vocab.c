/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv_vocab.c - reads rwkv_vocab_v20230424.txt, a Python literal per line. */
#include "tokenizer/rwkv_vocab.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/longest_match.h"
#include <string.h>

#define END_OF_TEXT "<|rwkv_tokenizer_end_of_text|>"

enum { MAX_LINE = 2048 }; /* bytes; the longest token has 128 */

/* What is left of a line. */
struct line {
    const char *at, *end;
    size_t id; /* that it should have */
    struct quire_error *err;
};

static quire_status bad_line(const struct line *l, const char *what)
{
    return qr_fail(l->err, QUIRE_E_FORMAT, QR_RWKV_VOCAB_FILE ", line %zu: %s", l->id, what);
}

/* Reads a decimal number and the space behind it, or the end of the line. */
static bool read_number(struct line *l, size_t *out)
{
    const char *first = l->at;
    size_t n = 0;
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9' && l->at - first < 9; l->at++)
        n = n * 10 + (size_t)(*l->at - '0');
    *out = n;
    const bool ends = l->at == l->end || *l->at == ' ';
    const bool any = l->at > first;
    l->at += l->at < l->end;
    return any && ends;
}

/* Value of the n hexadecimal digits at l->at, or UINT32_MAX. */
static uint32_t read_hex(struct line *l, int n)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++, l->at++) {
        const char c = l->at < l->end ? *l->at : 0;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A' + 10);
        else
            return UINT32_MAX;
        value = value << 4 | digit;
    }
    return value;
}

/* Code point, or byte, of the escape whose letter is at l->at; UINT32_MAX: there is none. */
static uint32_t read_escape(struct line *l, bool is_bytes)
{
    static const char letters[] = "\\'\"tnrabfv", values[] = "\\'\"\t\n\r\a\b\f\v";
    const char letter = l->at < l->end ? *l->at++ : 0;
    const char *simple = letter ? strchr(letters, letter) : NULL;
    if (simple)
        return (uint32_t)values[simple - letters];
    if (letter == 'x')
        return read_hex(l, 2);
    if (is_bytes || (letter != 'u' && letter != 'U'))
        return UINT32_MAX;
    const uint32_t cp = read_hex(l, letter == 'u' ? 4 : 8);
    return cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF) ? UINT32_MAX : cp;
}

/* Reads a literal; writes its value, at most as many bytes as the literal has, and their number. */
static quire_status read_literal(struct line *l, uint8_t *out, size_t *n_out)
{
    const bool is_bytes = l->at < l->end && *l->at == 'b';
    l->at += is_bytes;
    const char quote = l->at < l->end ? *l->at++ : 0;
    size_t n = 0;
    if (quote != '\'' && quote != '"')
        return bad_line(l, "no literal of a str or of bytes");
    while (l->at < l->end && *l->at != quote) {
        uint32_t cp = 0;
        const int size = qr_utf8_next_final((const uint8_t *)l->at, (size_t)(l->end - l->at), &cp);
        if (size < 0 || (is_bytes && size > 1))
            return bad_line(l, is_bytes ? "bytes that are not ASCII" : "invalid UTF-8");
        l->at += size;
        if (cp == '\\' && (cp = read_escape(l, is_bytes)) == UINT32_MAX)
            return bad_line(l, "unknown escape");
        if (is_bytes)
            out[n++] = (uint8_t)cp;
        else
            n += qr_utf8_put(out + n, cp);
    }
    if (l->at == l->end)
        return bad_line(l, "the literal does not end");
    l->at++;
    *n_out = n;
    return QUIRE_OK;
}

/* Reads a line into a token, with the escapes that longest_match.h has. */
static quire_status read_line(struct qr_vocab_spec *spec, struct line *l, struct qr_spec_token *out)
{
    const size_t size = (size_t)(l->end - l->at);
    size_t id = 0, n = 0, n_stated = 0;
    uint8_t bytes[MAX_LINE];
    char text[4 * MAX_LINE];
    if (size > MAX_LINE)
        return qr_fail(l->err, QUIRE_E_LIMIT,
                       QR_RWKV_VOCAB_FILE ", line %zu has %zu bytes, at most %d", l->id, size,
                       MAX_LINE);
    if (!read_number(l, &id) || id != l->id)
        return bad_line(l, "the id is not the number of the line");
    QR_TRY(read_literal(l, bytes, &n));
    if (l->at == l->end || *l->at++ != ' ' || !read_number(l, &n_stated) || l->at < l->end)
        return bad_line(l, "no number of bytes at the end");
    if (n != n_stated || n == 0)
        return qr_fail(l->err, QUIRE_E_FORMAT,
                       QR_RWKV_VOCAB_FILE ", line %zu: %zu bytes, but the line says %zu", l->id, n,
                       n_stated);
    out->size = qr_escape_token(bytes, n, text);
    out->text = qr_arena_strndup(&spec->arena, text, out->size);
    out->type = QUIRE_TOKEN_NORMAL;
    return out->text ? QUIRE_OK : qr_fail(l->err, QUIRE_E_NOMEM, "no memory for the tokenizer");
}

/* End of the line at text[0 .. size) without its line break; *next: where the next one begins. */
static const char *line_end(const char *text, size_t size, size_t *next)
{
    const char *end = memchr(text, '\n', size);
    *next = end ? (size_t)(end - text) + 1 : size;
    if (!end)
        end = text + size;
    return end > text && end[-1] == '\r' ? end - 1 : end;
}

quire_status qr_rwkv_vocab_read(struct qr_vocab_spec *spec, const char *text, size_t size,
                                struct quire_error *err)
{
    enum { SHORTEST = sizeof "1 'a' 1" - 1 }; /* bounds the memory for tokens by that of the file */
    size_t n = 1, next;
    for (size_t at = 0; at < size; at += next, n++)
        if ((size_t)(line_end(text + at, size - at, &next) - text) - at < SHORTEST)
            return qr_fail(err, QUIRE_E_FORMAT,
                           QR_RWKV_VOCAB_FILE ", line %zu is not an id, a literal and a number", n);
    if (n > QR_MAX_TOKENS) /* GCOVR_EXCL_BR_LINE: a file of 128 MiB */
        return qr_fail(err, QUIRE_E_LIMIT, QR_RWKV_VOCAB_FILE " has %zu tokens, at most %d", n,
                       QR_MAX_TOKENS);
    spec->kind = QR_VOCAB_LONGEST_MATCH;
    spec->n_tokens = n;
    spec->tokens = qr_arena_alloc(&spec->arena, n, sizeof *spec->tokens);
    if (!spec->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    memset(spec->tokens, 0, n * sizeof *spec->tokens);
    spec->tokens[0] = (struct qr_spec_token){ .text = END_OF_TEXT,
                                              .size = sizeof END_OF_TEXT - 1,
                                              .type = QUIRE_TOKEN_CONTROL };
    for (size_t at = 0, id = 1; at < size; at += next, id++) {
        struct line l = { text + at, line_end(text + at, size - at, &next), id, err };
        QR_TRY(read_line(spec, &l, &spec->tokens[id]));
    }
    return QUIRE_OK;
}
