/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/json_string.h"
#include <string.h>

/* A choice under construction. */
enum { MAX_OPTIONS = 64 };
struct options {
    struct qr_regex_set *set;
    qr_regex list[MAX_OPTIONS];
    size_t n;
};

static void add(struct options *o, qr_regex r)
{
    if (o->n == MAX_OPTIONS) {
        o->list[0] = qr_regex_or(o->set, o->list, o->n);
        o->n = 1;
    }
    o->list[o->n++] = r;
}

static qr_regex choice(const struct options *o) { return qr_regex_or(o->set, o->list, o->n); }

static qr_regex byte_range(struct qr_regex_set *set, unsigned first, unsigned last)
{
    struct qr_byte_set bytes = { { 0 } };
    for (unsigned b = first; b <= last; b++)
        bytes.bits[b / 64] |= 1ull << (b % 64);
    return qr_regex_bytes(set, &bytes);
}

static qr_regex pair(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    return qr_regex_concat(set, (qr_regex[]){ a, b }, 2);
}

/* ---- UTF-8 ---- */

/* Continuation bytes of the numbers first .. last of `bits` bits. */
static qr_regex continuation(struct qr_regex_set *set, uint32_t first, uint32_t last, unsigned bits)
{
    if (bits == 0)
        return QR_REGEX_EMPTY;
    const unsigned low = bits - 6;
    const uint32_t rest = (1u << low) - 1, a = first >> low, b = last >> low;
    const qr_regex any = continuation(set, 0, rest, low);
    if (a == b)
        return pair(set, byte_range(set, 0x80 + a, 0x80 + a),
                    continuation(set, first & rest, last & rest, low));
    const bool cut_first = (first & rest) != 0, cut_last = (last & rest) != rest;
    struct options o = { .set = set };
    if (cut_first)
        add(&o, pair(set, byte_range(set, 0x80 + a, 0x80 + a),
                     continuation(set, first & rest, rest, low)));
    if (a + cut_first + cut_last <= b)
        add(&o, pair(set, byte_range(set, 0x80 + a + cut_first, 0x80 + b - cut_last), any));
    if (cut_last)
        add(&o,
            pair(set, byte_range(set, 0x80 + b, 0x80 + b), continuation(set, 0, last & rest, low)));
    return choice(&o);
}

/* Characters of one encoded length of 1 + bits / 6 bytes, whose first byte begins with `mark`. */
static void add_encoded(struct options *o, uint32_t first, uint32_t last, unsigned bits,
                        unsigned mark)
{
    const uint32_t rest = (1u << bits) - 1;
    uint32_t a = first >> bits;
    const uint32_t b = last >> bits;
    for (; a <= b; a++) {
        const uint32_t from = a == first >> bits ? first & rest : 0,
                       to = a == b ? last & rest : rest;
        uint32_t end = a; /* lead bytes with all continuations at once */
        if (from == 0 && to == rest)
            while (end + 1 < b || (end + 1 == b && (last & rest) == rest))
                end++;
        add(o, pair(o->set, byte_range(o->set, mark + a, mark + end),
                    continuation(o->set, from, to, bits)));
        a = end;
    }
}

static void add_utf8(struct options *o, uint32_t first, uint32_t last)
{
    static const struct {
        uint32_t first, last;
        unsigned bits, mark;
    } lengths[] = { { 0, 0x7f, 0, 0 },
                    { 0x80, 0x7ff, 6, 0xc0 },
                    { 0x800, 0xd7ff, 12, 0xe0 },
                    { 0xe000, 0xffff, 12, 0xe0 },
                    { 0x10000, 0x10ffff, 18, 0xf0 } };
    for (int i = 0; i < 5; i++) {
        const uint32_t a = first > lengths[i].first ? first : lengths[i].first,
                       b = last < lengths[i].last ? last : lengths[i].last;
        if (a > b)
            continue;
        if (lengths[i].bits == 0)
            add(o, byte_range(o->set, a, b));
        else
            add_encoded(o, a, b, lengths[i].bits, lengths[i].mark);
    }
}

qr_regex qr_utf8_class(struct qr_regex_set *set, const struct qr_char_range *ranges, size_t n)
{
    struct options o = { .set = set };
    for (size_t i = 0; i < n; i++)
        add_utf8(&o, ranges[i].first, ranges[i].last);
    return choice(&o);
}

/* ---- JSON escapes ---- */

/* Hexadecimal digits first .. last, of either case. */
static qr_regex hex_digit(struct qr_regex_set *set, unsigned first, unsigned last)
{
    struct qr_byte_set bytes = { { 0 } };
    for (unsigned d = first; d <= last; d++) {
        const unsigned lower = (unsigned)"0123456789abcdef"[d],
                       upper = (unsigned)"0123456789ABCDEF"[d];
        bytes.bits[lower / 64] |= 1ull << (lower % 64);
        bytes.bits[upper / 64] |= 1ull << (upper % 64);
    }
    return qr_regex_bytes(set, &bytes);
}

/* `digits` hexadecimal digits of the numbers first .. last. */
static qr_regex hex(struct qr_regex_set *set, uint32_t first, uint32_t last, unsigned digits)
{
    if (digits == 0)
        return QR_REGEX_EMPTY;
    const unsigned low = 4 * (digits - 1);
    const uint32_t rest = (1u << low) - 1, a = first >> low, b = last >> low;
    if (a == b)
        return pair(set, hex_digit(set, a, a), hex(set, first & rest, last & rest, digits - 1));
    const bool cut_first = (first & rest) != 0, cut_last = (last & rest) != rest;
    struct options o = { .set = set };
    if (cut_first)
        add(&o, pair(set, hex_digit(set, a, a), hex(set, first & rest, rest, digits - 1)));
    if (a + cut_first + cut_last <= b)
        add(&o,
            pair(set, hex_digit(set, a + cut_first, b - cut_last), hex(set, 0, rest, digits - 1)));
    if (cut_last)
        add(&o, pair(set, hex_digit(set, b, b), hex(set, 0, last & rest, digits - 1)));
    return choice(&o);
}

static qr_regex escape(struct qr_regex_set *set, qr_regex digits)
{
    return pair(set, qr_regex_literal(set, "\\u", 2), digits);
}

/* \\uXXXX of the characters first .. last. */
static void add_escapes(struct options *o, uint32_t first, uint32_t last)
{
    add(o, escape(o->set, hex(o->set, first, last, 4)));
}

/* Pairs of surrogates of the characters first .. last, both at least U+10000. */
static void add_surrogates(struct options *o, uint32_t first, uint32_t last)
{
    struct qr_regex_set *set = o->set;
    const uint32_t a = first - 0x10000, b = last - 0x10000, rest = 0x3ff;
    const bool cut_first = (a & rest) != 0 && a >> 10 != b >> 10,
               cut_last = (b & rest) != rest && a >> 10 != b >> 10;
    if (a >> 10 == b >> 10) {
        add(o, pair(set, escape(set, hex(set, 0xd800 + (a >> 10), 0xd800 + (a >> 10), 4)),
                    escape(set, hex(set, 0xdc00 + (a & rest), 0xdc00 + (b & rest), 4))));
        return;
    }
    if (cut_first)
        add(o, pair(set, escape(set, hex(set, 0xd800 + (a >> 10), 0xd800 + (a >> 10), 4)),
                    escape(set, hex(set, 0xdc00 + (a & rest), 0xdfff, 4))));
    if ((a >> 10) + cut_first + cut_last <= b >> 10)
        add(o, pair(set,
                    escape(set, hex(set, 0xd800 + (a >> 10) + cut_first,
                                    0xd800 + (b >> 10) - cut_last, 4)),
                    escape(set, hex(set, 0xdc00, 0xdfff, 4))));
    if (cut_last)
        add(o, pair(set, escape(set, hex(set, 0xd800 + (b >> 10), 0xd800 + (b >> 10), 4)),
                    escape(set, hex(set, 0xdc00, 0xdc00 + (b & rest), 4))));
}

/* U+0000 .. U+007F: one encoding each. */
static void add_ascii(struct options *o, uint32_t c)
{
    static const char shorts[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *found = c != 0 ? strchr(shorts, (int)c) : NULL;
    if (found != NULL)
        add(o, qr_regex_literal(o->set, (const char[]){ '\\', letters[found - shorts] }, 2));
    else if (c < 0x20)
        add_escapes(o, c, c);
    else
        add(o, byte_range(o->set, c, c));
}

static void add_json(struct options *o, uint32_t first, uint32_t last)
{
    uint32_t c = first;
    for (; c <= last && c < 0x80; c++)
        add_ascii(o, c);
    if (c > last)
        return;
    add_utf8(o, c, last);
    if (c < 0xd800)
        add_escapes(o, c, last < 0xd7ff ? last : 0xd7ff);
    if (last > 0xdfff && c <= 0xffff)
        add_escapes(o, c > 0xe000 ? c : 0xe000, last < 0xffff ? last : 0xffff);
    if (last > 0xffff)
        add_surrogates(o, c > 0x10000 ? c : 0x10000, last);
}

qr_regex qr_json_class(struct qr_regex_set *set, const struct qr_char_range *ranges, size_t n)
{
    struct options o = { .set = set };
    for (size_t i = 0; i < n; i++)
        add_json(&o, ranges[i].first, ranges[i].last);
    return choice(&o);
}

qr_regex qr_json_any_char(struct qr_regex_set *set)
{
    return qr_json_class(set, &(struct qr_char_range){ 0, 0x10ffff }, 1);
}

qr_regex qr_json_any_string(struct qr_regex_set *set, uint32_t min, uint32_t max)
{
    return qr_regex_repeat(set, qr_json_any_char(set), min, max);
}

/* The code point that ends at text[*end], which is valid UTF-8; *end moves before it. */
static uint32_t previous_char(const unsigned char *text, size_t *end)
{
    uint32_t code = 0;
    unsigned bits = 0;
    while (--*end > 0 && (text[*end] & 0xc0) == 0x80) {
        code |= (text[*end] & 0x3fu) << bits;
        bits += 6;
    }
    const unsigned lead = text[*end];
    return bits == 0 ? lead : code | (lead & (0x7fu >> (bits / 6 + 1))) << bits;
}

qr_regex qr_json_literal(struct qr_regex_set *set, const char *text, size_t size)
{
    qr_regex out = QR_REGEX_EMPTY;
    while (size > 0 && qr_regex_set_status(set) == QUIRE_OK) { /* from the end: linear */
        struct options o = { .set = set };
        const uint32_t c = previous_char((const unsigned char *)text, &size);
        add_json(&o, c, c);
        out = pair(set, choice(&o), out);
    }
    return out;
}
