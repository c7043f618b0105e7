/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn.c - attention against a double-precision oracle; identical bits for every partition,
 * block layout and thread count. */
#include "test_attn_variants.h"

static void every_option_in_every_way(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 3, 0, 140, 1, 65 };
    problem_rng = 7;
    for (int round = 0; round < 120; round++) {
        struct problem s = random_scene();
        problem_fill(&s, lens, 5);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        if (chunks_are_possible(&s.config)) {
            check_chunks(&s, &want, 1 + problem_below(9), 32);
            check_chunks(&s, &want, 64, 64);
        }
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 1 + problem_below(40));
        check_alone(&s, &want);
        result_free(&want);
        problem_free(&s);
    }
}

static void several_spans(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 1100, 513 };
    problem_rng = 3;
    for (int round = 0; round < 20; round++) {
        struct problem s = random_scene();
        s.config.head_size = round == 0 ? 7 : 8 * (1 + problem_below(4));
        problem_fill(&s, lens, 2);
        problem_point(&s, round % 3 == 1, round % 3 == 2);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        check_threads(&s, &want);
        check_tail(&s, &want, 1);
        check_tail(&s, &want, 30);
        if (chunks_are_possible(&s.config))
            check_chunks(&s, &want, 333, 64);
        result_free(&want);
        problem_free(&s);
    }
}

/* All levels give the same bits. avx512_bf16 may flush subnormal products; these data have none. */
static void levels_agree(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 90, 17 };
    problem_rng = 11;
    for (int round = 0; round < 40; round++) {
        struct problem s = random_scene();
        problem_fill(&s, lens, 2);
        problem_point(&s, problem_below(3) == 0, problem_below(3) == 0);
        struct result want = whole(&s, "generic");
        int i = 0;
        for (const char *level; (level = usable_level(&i));) {
            struct result got = whole(&s, level);
            if (has_own_bits(&s, level))
                check_oracle(&s, &got);
            else
                assert_same_result(&got, &want);
            result_free(&got);
        }
        result_free(&want);
        problem_free(&s);
    }
}

static void every_group_and_head_size(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 70 };
    static const uint32_t sizes[] = { 8,   16,  24,  40,  48,  56,  64,  80,  88,  96,
                                      104, 112, 120, 128, 160, 192, 256, 512, 576, 1024,
                                      1,   2,   3,   7,   17,  65,  127, 513, 1023 };
    problem_rng = 5;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_FP8_E4M3, QUIRE_KV_BF16,
                                                      QUIRE_KV_INT8 };
        struct problem s =
            problem_of(1 + (uint32_t)i % 9, 1, sizes[i], dtypes[i % 3], QUIRE_COMPUTE_NATIVE);
        s.config.scale = 0.1f;
        problem_fill(&s, lens, 1);
        struct result want = whole(&s, NULL);
        check_oracle(&s, &want);
        check_tail(&s, &want, 2);
        result_free(&want);
        problem_free(&s);
    }
    struct problem s = problem_of(32, 1, 32, QUIRE_KV_F16, QUIRE_COMPUTE_F32);
    problem_fill(&s, lens, 1);
    struct result want = whole(&s, NULL);
    check_oracle(&s, &want);
    result_free(&want);
    problem_free(&s);
}

static void lse_does_not_change_out(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 600 };
    struct problem s = problem_of(4, 2, 32, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
    problem_fill(&s, lens, 1);
    struct result want = whole(&s, NULL), got = result_new(&s);
    struct variant r = variant_whole(&s);
    r.no_lse = true;
    run_problem(&s, &r, &got);
    assert_same_bits(got.out, want.out, want.n_out);
    result_free(&want);
    result_free(&got);
    problem_free(&s);
}

static void set_all(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static void huge_scores_stay_finite(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 200 };
    for (int i = 0; i < 4; i++) {
        struct problem s =
            problem_of(2, 1, 8, i < 2 ? QUIRE_KV_F32 : QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
        s.config.scale = 1;
        problem_fill(&s, lens, 1);
        set_all(s.q, 200 * 2 * 8, 0);
        for (uint32_t r = 0; r < 200 * 2; r++)
            s.q[r * 8] = 1e19f;
        for (uint32_t t = 0; t < 200; t++)
            s.k[t * 8] = i % 2 && t % 3 ? -1e19f : 1e19f;
        struct result got = whole(&s, NULL);
        for (size_t j = 0; j < got.n_out; j++)
            assert_true(isfinite(got.out[j]) && fabsf(got.out[j]) <= 2);
        for (size_t j = 0; j < got.n_lse; j++)
            assert_true(got.lse[j] > 0.99e38f && got.lse[j] < 1.01e38f);
        check_tail(&s, &got, 1);
        result_free(&got);
        problem_free(&s);
    }
}

static void rows_that_see_nothing(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 700 };
    struct problem s = problem_of(2, 1, 16, QUIRE_KV_F32, QUIRE_COMPUTE_F32);
    problem_fill(&s, lens, 1);
    s.config.sinks = s.sinks;
    set_all(s.k, 700 * 16, -3e38f); /* every score is -inf for the rows below */
    set_all(s.q + 600 * 2 * 16, 100 * 2 * 16, 3e38f);
    set_all(s.q, 600 * 2 * 16, 0);
    struct result got = whole(&s, NULL);
    for (uint32_t i = 0; i < 700 * 2; i++) {
        assert_true(i < 600 * 2 ? isfinite(got.lse[i]) : got.lse[i] == -INFINITY);
        for (uint32_t d = 0; d < 16; d++)
            assert_true(i < 600 * 2 ? isfinite(got.out[i * 16 + d]) : got.out[i * 16 + d] == 0);
    }
    check_threads(&s, &got);
    result_free(&got);
    problem_free(&s);
}

static void a_nan_query_spoils_only_its_row(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 100 };
    struct problem s = problem_of(4, 1, 64, QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE);
    problem_fill(&s, lens, 1);
    struct result want = whole(&s, NULL);
    s.q[(50 * 4 + 2) * 64 + 5] = NAN;
    struct result got = whole(&s, NULL);
    for (size_t row = 0; row < 400; row++) {
        if (row != 50 * 4 + 2)
            assert_same_bits(got.out + row * 64, want.out + row * 64, 64);
        for (size_t d = 0; row == 50 * 4 + 2 && d < 64; d++)
            assert_true(isnan(got.out[row * 64 + d]));
    }
    result_free(&want);
    result_free(&got);
    problem_free(&s);
}

static uint64_t hash_at(const struct problem *s, const char *level)
{
    uint64_t hash = 1469598103934665603u;
    struct result r = whole(s, level);
    for (size_t i = 0; i < r.n_out; i++) {
        uint32_t bits;
        memcpy(&bits, &r.out[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    result_free(&r);
    return hash;
}

/* The order of additions is specified: these bits may change only together with
 * docs/numerics.md. */
static void bits_are_pinned(void **state)
{
    (void)state;
    static const struct {
        enum quire_kv_dtype dtype;
        enum quire_compute compute;
        uint64_t hash, amx; /* of levels with a different order of additions */
    } pins[] = {
        { QUIRE_KV_F32, QUIRE_COMPUTE_F32, 0x0237f923e39d7fea, 0 },
        { QUIRE_KV_F16, QUIRE_COMPUTE_F32, 0x01d8729b3c5048b3, 0 },
        { QUIRE_KV_BF16, QUIRE_COMPUTE_F32, 0xd7ac6c19c658fd9a, 0 },
        { QUIRE_KV_BF16, QUIRE_COMPUTE_NATIVE, 0x3b4a4ffc87e0f471, 0x61849d602d4d0743 },
        { QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_F32, 0x4a3dee0858e66c9d, 0 },
        { QUIRE_KV_FP8_E4M3, QUIRE_COMPUTE_NATIVE, 0xedcf0bd1b1525833, 0x690ddb486c9abed6 },
        { QUIRE_KV_FP8_E5M2, QUIRE_COMPUTE_NATIVE, 0x2236f18a9c030c21, 0x6f2c7e7a0f3468d2 },
        { QUIRE_KV_INT8, QUIRE_COMPUTE_F32, 0xf44f5efb6c7136e7, 0 },
        { QUIRE_KV_INT8, QUIRE_COMPUTE_NATIVE, 0x733087b56283844c, 0xab4ae1b8c0d412f8 },
    };
    static const uint32_t lens[] = { 1200, 77 };
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        problem_rng = 2024;
        struct problem s = problem_of(6, 2, 72, pins[i].dtype, pins[i].compute);
        s.config.scale = 0.125f;
        s.config.logits_soft_cap = i % 3 == 1 ? 30 : 0;
        s.config.window_left = i % 3 == 2 ? 600 : -1;
        problem_fill(&s, lens, 2);
        s.config.alibi_slopes = i % 2 == 1 ? s.slopes : NULL;
        int at = 0;
        for (const char *level; (level = usable_level(&at));) {
            const uint64_t want = has_own_bits(&s, level) ? pins[i].amx : pins[i].hash,
                           got = hash_at(&s, level);
            if (got != want)
                fail_msg("case %zu at %s: 0x%016llx", i, level, (unsigned long long)got);
        }
        problem_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_in_every_way),
        cmocka_unit_test(several_spans),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(every_group_and_head_size),
        cmocka_unit_test(lse_does_not_change_out),
        cmocka_unit_test(huge_scores_stay_finite),
        cmocka_unit_test(rows_that_see_nothing),
        cmocka_unit_test(a_nan_query_spoils_only_its_row),
        cmocka_unit_test(bits_are_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
