/* SPDX-License-Identifier: Apache-2.0 */
/* longest_match.c - unescapes token texts, encodes by greedy longest match over bytes. */
#include "tokenizer/longest_match.h"
#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/sorted_tokens.h"
#include <string.h>

/* ---- Escaped texts */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Byte of an escape of one letter, or -1. */
static int simple_escape(char c)
{
    switch (c) {
    case '\\':
    case '\'':
        return c;
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    default:
        return -1;
    }
}

quire_status qr_unescape_token(const char *text, size_t size, size_t id, uint8_t *out,
                               size_t *n_out, struct quire_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\') {
            out[n++] = (uint8_t)text[i];
            continue;
        }
        if (++i == size)
            return qr_fail(err, QUIRE_E_FORMAT, "token %zu ends with a single backslash", id);
        if (text[i] != 'x') {
            const int byte = simple_escape(text[i]);
            if (byte < 0)
                return qr_fail(err, QUIRE_E_FORMAT,
                               "token %zu: unknown escape, a backslash and byte 0x%02x", id,
                               (unsigned)(uint8_t)text[i]);
            out[n++] = (uint8_t)byte;
            continue;
        }
        const int high = size - i > 2 ? hex_digit(text[i + 1]) : -1,
                  low = size - i > 2 ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            return qr_fail(err, QUIRE_E_FORMAT, "token %zu: \\x without two hexadecimal digits",
                           id);
        out[n++] = (uint8_t)(high * 16 + low);
        i += 2;
    }
    *n_out = n;
    return QUIRE_OK;
}

size_t qr_escape_token(const uint8_t *bytes, size_t n, char *out)
{
    static const char from[] = "\\\t\n\r", to[] = "\\tnr", hex[] = "0123456789abcdef";
    const bool both = memchr(bytes, '\'', n) && memchr(bytes, '"', n);
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        const char c = (char)bytes[i], *escape = c ? strchr(from, c) : NULL;
        if (escape || (both && c == '\'')) {
            *p++ = '\\';
            *p++ = escape ? to[escape - from] : c;
        } else if (bytes[i] >= 0x20 && bytes[i] < 0x7f) {
            *p++ = c;
        } else {
            *p++ = '\\';
            *p++ = 'x';
            *p++ = hex[bytes[i] >> 4];
            *p++ = hex[bytes[i] & 15];
        }
    }
    return (size_t)(p - out);
}

/* ---- Encoder */

quire_status qr_longest_match_build(struct quire_tokenizer *t, struct quire_error *err)
{
    QR_TRY(qr_sorted_tokens_build(t, true, err));
    /* their texts may differ: a byte can be written with and without an escape */
    for (uint32_t i = 1; i < t->sorted.n; i++)
        if (qr_sorted_tokens_compare(t, t->sorted.ids[i - 1], t->sorted.ids[i]) == 0)
            return qr_fail(err, QUIRE_E_FORMAT, "tokens %u and %u have the same bytes",
                           t->sorted.ids[i - 1], t->sorted.ids[i]);
    return QUIRE_OK;
}

/* Longest token that s[0..n), n > 0, begins with, or QUIRE_TOKEN_NONE. Narrows the range of the
 * tokens that agree with the text so far, byte by byte. *size: receives the bytes of the token. */
static int32_t find_longest(const struct quire_tokenizer *t, const uint8_t *s, size_t n,
                            size_t *size)
{
    const struct qr_sorted_tokens *sorted = &t->sorted;
    uint32_t low = sorted->by_first_byte[s[0]], high = sorted->by_first_byte[s[0] + 1];
    int32_t longest = QUIRE_TOKEN_NONE;
    for (uint32_t depth = 1; low < high; depth++) {
        const uint32_t id = sorted->ids[low]; /* the shortest one */
        if (t->tokens[id].bytes_size == depth) {
            longest = (int32_t)id;
            *size = depth;
            low++;
        }
        if (depth == n)
            break;
        low = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth]);
        high = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth] + 1u);
    }
    return longest;
}

void qr_encode_longest_match(struct qr_encoder *e, const uint8_t *text, size_t n)
{
    for (size_t at = 0, size; at < n; at += size) {
        int32_t id = find_longest(e->t, text + at, n - at, &size);
        if (id == QUIRE_TOKEN_NONE) {
            id = e->t->special[QUIRE_SPECIAL_UNK];
            size = 1;
        }
        if (id != QUIRE_TOKEN_NONE)
            qr_emit(e, id);
    }
}
