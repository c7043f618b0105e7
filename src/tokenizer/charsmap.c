/* SPDX-License-Identifier: Apache-2.0 */
/* charsmap.c - the normalizer of SentencePiece models. */
#include "tokenizer/charsmap.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include <string.h>

enum {
    MAX_CHARSMAP = 16 << 20, /* published maps have 240 KiB */
    MAX_REPLACEMENT = 256,   /* bytes; the longest one of NFKC has 33. Bounds the normalized text */
};

/* ---- Reading */

static uint32_t load_u32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* Whether all replacements are well-formed and short. The last byte is 0. */
static bool are_texts(const uint8_t *s, size_t n)
{
    for (size_t i = 0, size; i < n; i += size + 1) {
        size = strlen((const char *)s + i);
        if (size > MAX_REPLACEMENT || !qr_utf8_valid(s + i, size))
            return false;
    }
    return true;
}

quire_status qr_charsmap_read(struct qr_vocab_spec *spec, const uint8_t *data, size_t size,
                              const char *name, struct quire_error *err)
{
    if (size == 0)
        return QUIRE_OK;
    const size_t trie = size >= sizeof(uint32_t) ? load_u32(data) : 0;
    if (size > MAX_CHARSMAP)
        return qr_fail(err, QUIRE_E_LIMIT, "%s has %zu bytes, at most %d", name, size,
                       MAX_CHARSMAP);
    if (trie == 0 || trie % sizeof(uint32_t) || trie >= size - sizeof(uint32_t) ||
        data[size - 1] != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "%s: its %zu bytes are no map with a trie of %zu", name,
                       size, trie);
    if (!are_texts(data + sizeof(uint32_t) + trie, size - sizeof(uint32_t) - trie))
        return qr_fail(err, QUIRE_E_FORMAT, "%s: a replacement is not UTF-8 of at most %d bytes",
                       name, MAX_REPLACEMENT);
    spec->charsmap = data;
    spec->charsmap_size = size;
    return QUIRE_OK;
}

/* Value of a character of base64, or -1. */
static int base64_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

quire_status qr_charsmap_read_base64(struct qr_vocab_spec *spec, const char *text, size_t size,
                                     const char *name, struct quire_error *err)
{
    uint8_t *out = qr_arena_alloc(&spec->arena, size / 4 * 3 + 3, 1);
    size_t n = 0, used = size;
    uint32_t bits = 0;
    if (!out)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the normalizer");
    while (used && size - used < 2 && text[used - 1] == '=')
        used--;
    bool valid = size % 4 == 0;
    for (size_t i = 0; i < used && valid; i++) {
        const int value = base64_value(text[i]);
        valid = value >= 0;
        bits = bits << 6 | (uint32_t)(value & 63);
        if (i % 4)
            out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    if (!valid)
        return qr_fail(err, QUIRE_E_FORMAT, "%s is not base64", name);
    return qr_charsmap_read(spec, out, n, name, err);
}

/* ---- Normalization. The fields of a unit: bit 8: the node has a value; bits 0 to 7 and 31: the
 * byte that leads to it (bit 31 is set in values); bits 10 to 30: distance to its children, times
 * 256 if bit 9 is set. The value of a node is in the unit of the byte 0 below it. */

static bool has_value(uint32_t unit) { return unit >> 8 & 1; }

static uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }

static uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

/* Longest key that the text begins with: its size and its replacement. 0: there is none. */
static size_t match(const struct quire_tokenizer *t, const uint8_t *text, size_t n,
                    const char **replacement)
{
    const uint32_t trie = load_u32(t->charsmap), n_units = trie / sizeof(uint32_t);
    const uint8_t *units = t->charsmap + sizeof(uint32_t);
    const size_t n_strings = t->charsmap_size - sizeof(uint32_t) - trie;
    size_t longest = 0;
    uint32_t at = offset_of(load_u32(units));
    for (size_t i = 0; i < n; i++) {
        at ^= text[i];
        if (at >= n_units)
            break;
        const uint32_t unit = load_u32(units + at * sizeof(uint32_t));
        if (label_of(unit) != text[i])
            break;
        at ^= offset_of(unit);
        if (!has_value(unit) || at >= n_units)
            continue;
        const uint32_t value = load_u32(units + at * sizeof(uint32_t)) & ~(1u << 31);
        if (value >= n_strings || qr_utf8_is_continuation(units[trie + value]))
            continue; /* in a damaged map */
        longest = i + 1;
        *replacement = (const char *)units + trie + value;
    }
    return longest;
}

quire_status qr_charsmap_normalize(struct qr_encoder *e, const uint8_t **text, size_t *n)
{
    struct qr_bytes *b = &e->normalized;
    b->size = 0;
    for (size_t i = 0; i < *n;) {
        const char *piece = (const char *)*text + i;
        size_t size = qr_utf8_len((*text)[i]);
        const size_t longest = match(e->t, *text + i, *n - i, &piece);
        i += longest ? longest : size;
        if (longest)
            size = strlen(piece); /* the last byte of the map is 0 */
        if (size) {
            if (!qr_bytes_reserve(e->t->a, b, size))
                return qr_encoder_nomem(e);
            memcpy(b->data + b->size, piece, size);
            b->size += size;
        }
        /* a key may end inside a character in a damaged map */
        while (i < *n && qr_utf8_is_continuation((*text)[i]))
            i++;
    }
    *text = b->data;
    *n = b->size;
    return QUIRE_OK;
}
