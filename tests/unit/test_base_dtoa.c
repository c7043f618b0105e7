/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_dtoa.c - decimal conversions of doubles, compared with the C library. */
#include "base/dtoa.h"
#include "quire_cmocka.h"
#include <math.h>

static uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *s ^ *s >> 33;
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 33;
}

static double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Edge cases, all normal powers of two (whose neighbors are at unequal distances), short decimals,
 * and doubles of random bits. */
static double sample(uint64_t *s, int i)
{
    static const double edge_cases[] = {
        0,     1,    0.1,  0.5,  1e15,  1e16, 1e17, 9007199254740993.0,      5e-324,
        1e22,  1e23, 1e-4, 1e-5, 123.0, 2.5,  1e21, 2.2250738585072014e-308, 0.3,
        1e100, 4.35, 2.675
    };
    const int n = (int)(sizeof edge_cases / sizeof *edge_cases);
    if (i < n)
        return edge_cases[i];
    if (i < n + 2046)
        return from_bits((uint64_t)(i - n + 1) << 52);
    if (i % 2)
        return (double)(next_random(s) % 1000000) / 1000;
    return fabs(from_bits(next_random(s) & 0x7fefffffffffffffu));
}

static void test_repr(void **state)
{
    uint64_t seed = 1;
    char got[QR_FLOAT_CHARS_MAX + 1], shorter[64];
    (void)state;
    for (int i = 0; i < 6000; i++) {
        const double v = sample(&seed, i);
        const size_t n = qr_float_repr(v, got);
        got[n] = 0;
        assert_true(strtod(got, NULL) == v);
        /* one significant digit less parses to another value */
        int digits = 0, zeros = 0;
        for (const char *p = got; *p && *p != 'e'; p++) {
            const bool digit = *p >= '0' && *p <= '9' && (digits || *p != '0');
            digits += digit;
            zeros = digit && *p == '0' ? zeros + 1 : digit ? 0 : zeros;
        }
        digits -= zeros;
        if (digits < 2)
            continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, v);
        assert_true(strtod(shorter, NULL) != v);
    }
}

static void test_known_reprs(void **state)
{
    static const struct {
        double v;
        const char *text;
    } known[] = {
        { 1, "1.0" },
        { 0.1, "0.1" },
        { 1e16, "1e+16" },
        { 1e15, "1000000000000000.0" },
        { 1e-5, "1e-05" },
        { 0.0001, "0.0001" },
        { 1.5e300, "1.5e+300" },
        { -2.5, "-2.5" },
        { -0.0, "-0.0" },
        { HUGE_VAL, "inf" },
        { -HUGE_VAL, "-inf" },
        { 5e-324, "5e-324" },
        { 123456789012345680.0, "1.2345678901234568e+17" },
        { 0x1p-44, "5.684341886080802e-14" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char got[QR_FLOAT_CHARS_MAX + 1];
        got[qr_float_repr(known[i].v, got)] = 0;
        assert_string_equal(got, known[i].text);
    }
}

static void test_format(void **state)
{
    static const char types[] = "efg";
    uint64_t seed = 2;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const double v = sample(&seed, i) * (i % 3 ? 1 : -1);
        for (int t = 0; t < 3; t++) {
            const int precision = (int)(next_random(&seed) % 20);
            char want[512], got[QR_FLOAT_CHARS_MAX + 1];
            const char fmt[] = { '%', '.', '*', types[t], 0 };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(want, sizeof want, fmt, precision, v);
#pragma GCC diagnostic pop
            got[qr_float_format(v, types[t], precision, false, got)] = 0;
            assert_string_equal(got, want);
        }
    }
}

static void test_parse(void **state)
{
    uint64_t seed = 3;
    double got;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        char text[128];
        const unsigned long long a = next_random(&seed), b = next_random(&seed);
        snprintf(text, sizeof text, i % 2 ? "%llu.%llu" : "%llu.%llue%d", a >> (b % 60), b,
                 (int)(a % 640) - 330);
        assert_true(qr_strtod(text, strlen(text), &got));
        assert_true(got == strtod(text, NULL));
    }
    static const char *const bad[] = { "",   ".",  "e5", "1e",   "1e+", "1.2.3",
                                       "1x", "-1", " 1", "0x10", "1_0" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(qr_strtod(bad[i], strlen(bad[i]), &got));
    /* midpoint between 1 and the next double; only the last of 1200 bytes breaks the tie */
    char halfway[1200];
    memset(halfway, '0', sizeof halfway);
    memcpy(halfway, "1.00000000000000011102230246251565404236316680908203125", 55);
    assert_true(qr_strtod(halfway, sizeof halfway, &got) && got == 1.0);
    halfway[sizeof halfway - 1] = '1';
    assert_true(qr_strtod(halfway, sizeof halfway, &got) && got > 1.0);
}

/* Up to 19 digits, exponents around the bounds of the integer arithmetic, and midpoints between two
 * doubles, which round to even. */
static void test_parse_short(void **state)
{
    uint64_t seed = 4;
    double got;
    (void)state;
    for (int i = 0; i < 30000; i++) {
        const uint64_t r = next_random(&seed);
        const uint64_t between = 1ull << 53 | (r >> 11) | 1; /* of 54 bits, odd */
        char text[64];
        if (i % 3 == 0)
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)r >> r % 64,
                     (int)(r / 64 % 45) - 22);
        else if (i % 3 == 1)
            snprintf(text, sizeof text, "%llu", (unsigned long long)between << r % 10);
        else
            snprintf(text, sizeof text, "%llu.5e%d", (unsigned long long)between >> 1,
                     (int)(r % 3) - 1);
        assert_true(qr_strtod(text, strlen(text), &got));
        assert_true(got == strtod(text, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repr),        cmocka_unit_test(test_known_reprs),
        cmocka_unit_test(test_format),      cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
