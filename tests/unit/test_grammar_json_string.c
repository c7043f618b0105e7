/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_json_string.c - contents of JSON strings: each encoding of characters at the edges
 * of ranges, against the rules of json_string.h written once more. */
#include "grammar/regex/json_string.h"
#include "quire_cmocka.h"
#include <stdio.h>
#include <string.h>

static const uint32_t edges[] = { 0,       1,       8,       9,       10,       11,
                                  12,      13,      0x1f,    0x20,    '"',      '/',
                                  '\\',    'a',     0x7e,    0x7f,    0x80,     0xbf,
                                  0xc0,    0x7ff,   0x800,   0xfff,   0x1000,   0xd7ff,
                                  0xe000,  0xfffd,  0xffff,  0x10000, 0x103ff,  0x10400,
                                  0x1f600, 0x3ffff, 0x40000, 0xffffe, 0x100000, 0x10ffff };
enum { N_EDGES = sizeof edges / sizeof *edges, RANDOM_RANGES = 300 };

static bool matches(struct qr_regex_set *set, qr_regex r, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r = qr_regex_derivative(set, r, (uint8_t)text[i]);
    return qr_regex_nullable(set, r);
}

static size_t utf8(uint32_t c, char *out)
{
    if (c < 0x80)
        return (size_t)(sprintf(out, "%c", (char)c), 1);
    if (c < 0x800)
        return (size_t)sprintf(out, "%c%c", (char)(0xc0 | c >> 6), (char)(0x80 | (c & 63)));
    if (c < 0x10000)
        return (size_t)sprintf(out, "%c%c%c", (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)),
                               (char)(0x80 | (c & 63)));
    return (size_t)sprintf(out, "%c%c%c%c", (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                           (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)));
}

static size_t escaped(uint32_t c, bool upper, char *out)
{
    const char *one = upper ? "\\u%04X" : "\\u%04x",
               *two = upper ? "\\u%04X\\u%04X" : "\\u%04x\\u%04x";
    if (c < 0x10000)
        return (size_t)sprintf(out, one, c);
    return (size_t)sprintf(out, two, 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
}

/* Compares all encodings of c with an expression that contains the character or not. */
static void check_char(struct qr_regex_set *set, qr_regex r, qr_regex plain, uint32_t c, bool in)
{
    static const char shorts[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *found = c != 0 && c < 0x80 ? strchr(shorts, (int)c) : NULL;
    const bool raw = c >= 0x20 && found == NULL;
    const bool hex = c >= 0x80 || (c < 0x20 && found == NULL);
    char text[32];
    const size_t n = utf8(c, text);
    assert_int_equal(matches(set, r, text, n), in && raw);
    assert_int_equal(matches(set, plain, text, n), in);
    assert_false(n > 1 && matches(set, r, text, n - 1));
    for (int upper = 0; upper < 2; upper++)
        assert_int_equal(matches(set, r, text, escaped(c, upper, text)), in && hex);
    if (found != NULL) {
        const char pair[] = { '\\', letters[found - shorts] };
        assert_int_equal(matches(set, r, pair, 2), in);
    }
}

static void classes(void **state)
{
    (void)state;
    uint32_t random = 5;
    for (int round = 0; round < RANDOM_RANGES; round++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        struct qr_char_range range = { 0, 0x10ffff };
        if (round > 0) {
            range.first = edges[((random = random * 1664525u + 1013904223u) >> 8) % N_EDGES];
            range.last = edges[((random = random * 1664525u + 1013904223u) >> 8) % N_EDGES];
        }
        if (range.first > range.last)
            range = (struct qr_char_range){ range.last, range.first };
        const qr_regex r = qr_json_class(set, &range, 1), plain = qr_utf8_class(set, &range, 1);
        for (size_t i = 0; i < N_EDGES; i++)
            check_char(set, r, plain, edges[i], edges[i] >= range.first && edges[i] <= range.last);
        assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
        qr_regex_set_free(set);
    }
}

static void strings(void **state)
{
    (void)state;
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    const qr_regex any = qr_json_any_string(set, 2, 3), no_max = qr_json_any_string(set, 0, ~0u);
    static const char *const bad[] = { "\\/",
                                       "\\ud800",
                                       "\\ude00\\ud83d",
                                       "\\u00",
                                       "\\",
                                       "\"",
                                       "\\u0041",
                                       "\n",
                                       "\x80",
                                       "\xC0\x80",
                                       "\xED\xA0\x80",
                                       "\xF4\x90\x80\x80",
                                       "\xF0\x80\x80\x80" };
    assert_true(matches(set, any, "a\\n", 3) && matches(set, any, "ab\\ud83d\\uDE00", 14));
    assert_false(matches(set, any, "a", 1) || matches(set, any, "abcd", 4));
    assert_true(matches(set, no_max, "", 0) && matches(set, no_max, "\\\"\\\\\\u0000", 10));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(matches(set, no_max, bad[i], strlen(bad[i])));
    const qr_regex r = qr_json_literal(set, "a\"\xC3\xA9\xF0\x9F\x98\x80\0", 9);
    assert_true(matches(set, r, "a\\\"\xC3\xA9\xF0\x9F\x98\x80\\u0000", 15));
    assert_true(matches(set, r, "a\\\"\\u00e9\\uD83D\\uDE00\\u0000", 27));
    assert_false(matches(set, r, "a\\\"\\u00e9\\uD83D\\uDE00", 21));
    assert_int_equal(qr_regex_set_status(set), QUIRE_OK);
    qr_regex_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(classes), cmocka_unit_test(strings) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
