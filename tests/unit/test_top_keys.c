/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_keys.c - the selection of the highest scores against its definition. */
#include "model/forward/top_keys.h"
#include "quire_cmocka.h"
#include <float.h>
#include <math.h>

enum { MAX_KEYS = 700 };

/* Number of keys that come before key i: higher scores, and equal ones with lower indices. */
static uint32_t keys_before(const float *scores, uint32_t n, uint32_t i)
{
    uint32_t before = 0;
    for (uint32_t j = 0; j < n; j++)
        before += scores[j] > scores[i] || (scores[j] == scores[i] && j < i);
    return before;
}

static void check(const float *scores, uint32_t n, uint32_t k)
{
    uint64_t bits[MAX_KEYS / 64 + 2];
    memset(bits, 0xa5, sizeof bits);
    qr_top_keys(scores, n, k, bits);
    for (uint32_t i = 0; i < (n + 63) / 64 * 64; i++) {
        const bool chosen = bits[i / 64] >> i % 64 & 1;
        assert_true(chosen == (i < n && scores[i] != -INFINITY && keys_before(scores, n, i) < k));
    }
    assert_true(bits[(n + 63) / 64] == 0xa5a5a5a5a5a5a5a5u); /* words beyond are unchanged */
}

static void test_by_definition(void **state)
{
    (void)state;
    static const float special[] = { 0.0f,      -0.0f,   FLT_MAX, -FLT_MAX, INFINITY,
                                     -INFINITY, FLT_MIN, 1e-45f,  -1e-45f,  1.0f };
    float scores[MAX_KEYS];
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        const uint32_t n = 1 + (uint32_t)(round * 37 % MAX_KEYS);
        for (uint32_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            const uint32_t r = random >> 8;
            scores[i] = round % 3 == 0   ? special[r % 10]
                        : round % 3 == 1 ? (float)(r % 16) - 8 /* many ties */
                                         : ((float)r - 8e6f) * 1e-3f;
        }
        const uint32_t counts[] = { 0, 1, n / 3, n - 1, n, n + 9 };
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            check(scores, n, counts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_by_definition) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
