/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench.c - statistics of quire-bench, and its random weights. */
#include "../../bench/bench_stats.c"
#include "../../bench/bench_weights.c"
#include "linear/dequantize.h"
#include "quire_cmocka.h"
#include <math.h>

static struct bench_summary summary_of(unsigned n)
{
    struct bench_samples s = { 0 };
    for (unsigned i = 0; i < n; i++)
        bench_sample(&s, (double)((i * 7) % n)); /* permutes 0..n-1: 7 divides no n below */
    return bench_summarize(&s);
}

static void test_summary(void **state)
{
    (void)state;
    const struct bench_samples none = { 0 };
    assert_true(isnan(bench_summarize(&none).median));
    /* published ranks of the 95 % confidence interval of a median */
    static const struct {
        unsigned n;
        double median, lo, hi;
    } cases[] = { { 1, 0, 0, 0 },    { 2, 0.5, 0, 1 },         { 5, 2, 0, 4 },   { 6, 2.5, 0, 5 },
                  { 9, 4, 1, 7 },    { 11, 5, 1, 9 },          { 15, 7, 3, 11 }, { 20, 9.5, 5, 14 },
                  { 25, 12, 7, 17 }, { 1000, 499.5, 468, 531 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bench_summary s = summary_of(cases[i].n);
        if (s.lo != cases[i].lo || s.hi != cases[i].hi)
            print_error("n %u: %g .. %g\n", cases[i].n, s.lo, s.hi);
        assert_true(s.median == cases[i].median);
        assert_true(s.lo == cases[i].lo && s.hi == cases[i].hi);
    }
    const struct bench_samples two = { 2, { 1, 4 } };
    assert_true(fabs(bench_summarize(&two).mean - 2.5) < 1e-12);
    assert_true(fabs(bench_summarize(&two).sd - sqrt(4.5)) < 1e-12);
}

static void test_samples_end(void **state)
{
    (void)state;
    struct bench_samples s = { 0 };
    for (int i = 0; i < BENCH_MAX_SAMPLES + 5; i++)
        bench_sample(&s, 1);
    assert_int_equal(s.n, BENCH_MAX_SAMPLES);
}

/* Random weights of every type have the requested mean and deviation, and depend on the seed. */
static void test_weights(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    float *x = malloc(N * sizeof *x);
    uint8_t *raw = malloc(N * 4), *again = malloc(N * 4);
    assert_true(x && raw && again);
    int n_types = 0;
    for (uint32_t type = 0; type < 64; type++) {
        const struct qr_weight_type_info *info = qr_weight_type_info(type);
        if (!info || !info->supported)
            continue;
        n_types++;
        for (float deviation = 1; deviation > 0.002f; deviation /= 10) {
            uint64_t rng = 5;
            double sum = 0, square = 0;
            bench_weights_fill(type, raw, N, deviation, &rng);
            qr_weight_dequantize(type, raw, N, x);
            for (int i = 0; i < N; i++) {
                assert_true(isfinite(x[i]));
                sum += (double)x[i];
                square += (double)x[i] * (double)x[i];
            }
            const double mean = sum / N / (double)deviation,
                         ratio = sqrt(square / N) / (double)deviation;
            if (fabs(mean) > 0.12 || fabs(ratio - 1) > 0.3)
                print_error("%s: mean %g, deviation %g, relative to the request\n", info->name,
                            mean, ratio);
            assert_true(fabs(mean) <= 0.12 && fabs(ratio - 1) <= 0.3);
            bench_weights_fill(type, again, N, deviation, &rng);
            assert_memory_not_equal(raw, again, N / 8);
        }
        struct bench_weight_type found = { 0 };
        assert_true(bench_weight_type_find(info->name, &found) && found.number == type);
        assert_true(found.block_elems == info->block_elems);
        assert_true(found.file_type || type == QR_WEIGHT_F32);
    }
    assert_true(n_types >= 16);
    struct bench_weight_type none;
    assert_false(bench_weight_type_find("q8_k", &none)); /* named by the library, not supported */
    assert_false(bench_weight_type_find("", &none));
    assert_true(bench_weight_type_get((unsigned)n_types - 1, &none));
    assert_false(bench_weight_type_get((unsigned)n_types, &none));
    free(x), free(raw), free(again);
}

static void test_f16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        assert_int_equal(to_f16(qr_f16_to_f32((uint16_t)h)), h);
        assert_int_equal(to_f16(qr_f16_to_f32((uint16_t)(h | 0x8000))), h | 0x8000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_samples_end),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
