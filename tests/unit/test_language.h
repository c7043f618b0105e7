/* SPDX-License-Identifier: Apache-2.0 */
/* test_language.h - random expressions together with the sets of short strings that they match,
 * which are computed without derivatives. */
#ifndef TEST_LANGUAGE_H
#define TEST_LANGUAGE_H
#include "grammar/regex/regex_set.h"
#include <string.h>

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* ---- Naive languages: the strings of up to LENGTH of the letters a, b and c as a bit set. String
 * s of length n is number OFFSET(n) + its digits in base 3. */

enum { LETTERS = 3, LENGTH = 6, STRINGS = (729 * 3 - 1) / 2 };

struct language {
    uint8_t has[STRINGS];
};

/* Tables: most of the time of the tests is spent here. */
static const int offset_of[LENGTH + 2] = { 0, 1, 4, 13, 40, 121, 364, STRINGS },
                                    power_of[LENGTH + 1] = { 1, 3, 9, 27, 81, 243, 729 };

static int length_of(int s)
{
    int n = 0;
    while (s >= offset_of[n + 1])
        n++;
    return n;
}

/* The number of a string that starts with s and goes on with t, or -1 if it is too long. */
static int join(int s, int t)
{
    const int m = length_of(s), n = length_of(t);
    if (m + n > LENGTH)
        return -1;
    return offset_of[m + n] + (s - offset_of[m]) * power_of[n] + (t - offset_of[n]);
}

static void lang_concat(const struct language *a, const struct language *b, struct language *out)
{
    struct language r = { { 0 } };
    for (int s = 0; s < STRINGS; s++) {
        const int n = a->has[s] ? offset_of[LENGTH - length_of(s) + 1] : 0; /* those that fit */
        for (int t = 0; t < n; t++)
            if (b->has[t])
                r.has[join(s, t)] = 1;
    }
    *out = r;
}

static void lang_repeat(const struct language *a, uint32_t min, uint32_t max, struct language *out)
{
    struct language power = { { 0 } }, sum = { { 0 } };
    power.has[0] = 1;
    /* after LENGTH repetitions more than the empty string, only the empty string is left to add */
    const uint32_t most = min + LENGTH < max ? min + LENGTH : max;
    for (uint32_t i = 0; i <= most; i++) {
        for (int s = 0; s < STRINGS && i >= min; s++)
            sum.has[s] |= power.has[s];
        lang_concat(&power, a, &power);
    }
    *out = sum;
}

/* ---- Random expressions with their languages */

struct pair {
    qr_regex r;
    struct language l;
};

static void draw_letters(struct qr_regex_set *set, struct pair *out)
{
    struct qr_byte_set bytes = { { 0 } };
    memset(&out->l, 0, sizeof out->l);
    for (int c = 0; c < LETTERS; c++)
        if (draw(2)) {
            bytes.bits[1] |= 1ull << ('a' + c - 64);
            out->l.has[1 + c] = 1;
        }
    if (draw(4) == 0)
        bytes.bits[0] |= 1ull << '0'; /* a byte of no string */
    out->r = qr_regex_bytes(set, &bytes);
}

static void draw_literal(struct qr_regex_set *set, struct pair *out)
{
    char text[4];
    const uint32_t n = draw(4);
    int s = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t c = draw(LETTERS);
        text[i] = (char)('a' + c);
        s = join(s, 1 + (int)c);
    }
    memset(&out->l, 0, sizeof out->l);
    out->l.has[s] = 1;
    out->r = qr_regex_literal(set, text, n);
}

static void draw_expression(struct qr_regex_set *set, int depth, struct pair *out);

static void draw_list(struct qr_regex_set *set, int depth, uint32_t kind, struct pair *out)
{
    struct pair part;
    qr_regex list[5];
    const uint32_t n = 1 + draw(kind == 0 ? 3 : 5);
    for (uint32_t i = 0; i < n; i++) {
        draw_expression(set, depth - 1, &part);
        list[i] = part.r;
        if (i == 0)
            out->l = part.l;
        else if (kind == 0)
            lang_concat(&out->l, &part.l, &out->l);
        for (int s = 0; s < STRINGS && i > 0 && kind > 0; s++)
            out->l.has[s] =
                kind == 1 ? out->l.has[s] | part.l.has[s] : out->l.has[s] & part.l.has[s];
    }
    out->r = kind == 0   ? qr_regex_concat(set, list, n)
             : kind == 1 ? qr_regex_or(set, list, n)
                         : qr_regex_and(set, list, n);
}

static void draw_expression(struct qr_regex_set *set, int depth, struct pair *out)
{
    const uint32_t kind = depth == 0 ? draw(2) + 5 : draw(8);
    struct pair part;
    uint32_t min, max;
    switch (kind) {
    case 0:
    case 1:
    case 2:
        draw_list(set, depth, kind, out);
        break;
    case 3:
        draw_expression(set, depth - 1, &part);
        out->r = qr_regex_not(set, part.r);
        for (int s = 0; s < STRINGS; s++)
            out->l.has[s] = !part.l.has[s];
        break;
    case 4:
        draw_expression(set, depth - 1, &part);
        min = draw(4);
        max = draw(3) == 0 ? QR_REGEX_UNBOUNDED : min + draw(4);
        out->r = qr_regex_repeat(set, part.r, min, max);
        lang_repeat(&part.l, min, max, &out->l);
        break;
    case 5:
        draw_letters(set, out);
        break;
    case 6:
        draw_literal(set, out);
        break;
    default:
        out->r = draw(2) ? QR_REGEX_EMPTY : draw(3) ? QR_REGEX_ANY : QR_REGEX_NONE;
        for (int s = 0; s < STRINGS; s++)
            out->l.has[s] = out->r == QR_REGEX_ANY || (out->r == QR_REGEX_EMPTY && s == 0);
        break;
    }
}

#endif
