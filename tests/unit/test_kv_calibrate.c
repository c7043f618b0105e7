/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_calibrate.c - maximum magnitudes of rows, scales from them, and a pool with these
 * scales. */
#include "kv/rows.h"
#include "kv/types.h"
#include "test_kv.h"
#include <float.h>
#include <math.h>

enum { TOKENS = 21, HEADS = 3, KD = 24, VD = 10, MAX = TOKENS * 200 };
static float k[MAX], v[MAX];

static struct quire_kv_calibrate_args args_of(const void *keys, const void *values)
{
    return (struct quire_kv_calibrate_args){ .struct_size = sizeof(struct quire_kv_calibrate_args),
                                             .n_kv_heads = HEADS,
                                             .head_size = KD,
                                             .v_head_size = VD,
                                             .k = keys,
                                             .v = values,
                                             .n_tokens = TOKENS };
}

static void fill(float *x, float amplitude)
{
    for (size_t i = 0; i < MAX; i++)
        x[i] = ((float)kv_below(20001) / 10000 - 1) * amplitude;
}

/* Dense rows, then rows with gaps; amax accumulates over calls. */
static void amax_per_head(void **state)
{
    (void)state;
    for (int gaps = 0; gaps < 2; gaps++) {
        float k_amax[HEADS] = { 0, 0.5f, 1e9f }, v_amax[HEADS] = { 0 };
        float want_k[HEADS] = { 0, 0.5f, 1e9f }, want_v[HEADS] = { 0 };
        for (int call = 0; call < 3; call++) {
            fill(k, 7);
            fill(v, 0.01f * (float)(call + 1));
            struct quire_kv_calibrate_args a = args_of(k, v);
            const size_t kt = gaps ? KD + 3 : HEADS * KD, kh = gaps ? TOKENS * (KD + 3) : KD,
                         vt = HEADS * VD, vh = VD;
            if (gaps) {
                a.k_token_stride = kt;
                a.k_head_stride = kh;
            }
            for (size_t h = 0; h < HEADS; h++)
                for (size_t t = 0; t < TOKENS; t++) {
                    for (size_t d = 0; d < KD; d++)
                        want_k[h] = fmaxf(want_k[h], fabsf(k[t * kt + h * kh + d]));
                    for (size_t d = 0; d < VD; d++)
                        want_v[h] = fmaxf(want_v[h], fabsf(v[t * vt + h * vh + d]));
                }
            assert_status(QUIRE_OK, quire_kv_calibrate(&a, k_amax, v_amax, NULL));
            assert_memory_equal(k_amax, want_k, sizeof want_k);
            assert_memory_equal(v_amax, want_v, sizeof want_v);
        }
    }
}

/* Misaligned rows of 16-bit dtypes; K or V may be absent, together with its amax. */
static void dtypes_and_missing_rows(void **state)
{
    (void)state;
    const struct quire_kv_group_config g = kv_group(QUIRE_KV_F32, 8, 1);
    struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL); /* for its kernels */
    static unsigned char raw[MAX * 2 + 1];
    fill(k, 3);
    k[5] = -3.5f;
    for (enum quire_kv_dtype dtype = QUIRE_KV_BF16; dtype <= QUIRE_KV_F16; dtype++) {
        float scale = 1, amax[HEADS] = { 0 };
        for (size_t i = 0; i < MAX; i++) {
            uint16_t code;
            qr_kv_dtype(dtype)->quantize(kv->kernels, &code, &k[i], &scale, 1);
            memcpy(raw + 1 + 2 * i, &code, 2);
        }
        struct quire_kv_calibrate_args a = args_of(raw + 1, NULL);
        a.dtype = dtype;
        assert_status(QUIRE_OK, quire_kv_calibrate(&a, amax, NULL, NULL));
        assert_true(amax[0] == 3.5f && amax[1] > 2.9f && amax[1] <= 3);
        a = args_of(NULL, raw + 1);
        a.dtype = dtype;
        a.v_head_size = 0; /* = head_size */
        float again[HEADS] = { 0 };
        assert_status(QUIRE_OK, quire_kv_calibrate(&a, NULL, again, NULL));
        assert_memory_equal(again, amax, sizeof amax);
        a.n_tokens = 0;
        assert_status(QUIRE_OK, quire_kv_calibrate(&a, NULL, NULL, NULL));
    }
    quire_kv_destroy(kv);
}

static void nan_and_infinity_are_ignored(void **state)
{
    (void)state;
    fill(k, 1);
    k[0] = NAN;
    k[1] = INFINITY;
    k[2] = -INFINITY;
    k[3] = -2;
    k[KD] = FLT_MAX;
    struct quire_kv_calibrate_args a = args_of(k, NULL);
    float amax[HEADS] = { 0 };
    assert_status(QUIRE_OK, quire_kv_calibrate(&a, amax, NULL, NULL));
    assert_true(amax[0] == 2 && amax[1] == FLT_MAX && amax[2] <= 1);
}

static void scales_by_formula(void **state)
{
    (void)state;
    const float amax[] = { 0, 896, 3, 448 * 5, 0, 0 };
    float scales[6];
    assert_status(QUIRE_OK, quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, amax, 6, scales, 6, NULL));
    const float each[] = { 1, 2, 3.0f / 448, 5, 1, 1 };
    assert_memory_equal(scales, each, sizeof each);
    assert_status(QUIRE_OK, quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, amax, 6, scales, 3, NULL));
    assert_true(scales[0] == 2 && scales[1] == 5 && scales[2] == 1);
    assert_status(QUIRE_OK, quire_kv_calibrate_scales(QUIRE_KV_FP8_E5M2, amax, 6, scales, 1, NULL));
    assert_true(scales[0] == 448 * 5.0f / 57344);
    const enum quire_kv_dtype others[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16,
                                           QUIRE_KV_INT8 };
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_status(QUIRE_OK, quire_kv_calibrate_scales(others[i], amax, 6, scales, 2, NULL));
        assert_true(scales[0] == 1 && scales[1] == 1);
    }
    float tiny[] = { 0x1p-140f, FLT_MIN }; /* in place; scales are never 0 or subnormal */
    assert_status(QUIRE_OK, quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, tiny, 2, tiny, 2, NULL));
    assert_true(tiny[0] == FLT_MIN && tiny[1] == FLT_MIN);
}

/* A pool with the computed scales clips none of the observed values; smaller scales would. */
static void observed_values_fit(void **state)
{
    (void)state;
    enum { D = 16 };
    for (int type = QUIRE_KV_FP8_E4M3; type <= QUIRE_KV_FP8_E5M2; type++)
        for (int round = 0; round < 200; round++) {
            float amax[2][4] = { { 0 } }, scales[2][4];
            fill(k, 1 + (float)kv_below(100000));
            fill(v, 0.0001f * (float)(1 + kv_below(1000)));
            for (uint32_t layer = 0; layer < 2; layer++) {
                struct quire_kv_calibrate_args a = args_of(k + layer * 64, v + layer * 64);
                a.n_kv_heads = 2;
                a.head_size = a.v_head_size = D;
                a.n_tokens = 2;
                assert_status(QUIRE_OK, quire_kv_calibrate(&a, &amax[0][layer * 2],
                                                           &amax[1][layer * 2], NULL));
            }
            struct quire_kv_group_config g = kv_group((enum quire_kv_dtype)type, D, 1);
            const uint32_t counts[] = { 1, 2, 4 };
            g.n_k_scales = counts[round % 3];
            g.n_v_scales = counts[round / 3 % 3];
            g.k_scale = scales[0];
            g.v_scale = scales[1];
            assert_status(QUIRE_OK, quire_kv_calibrate_scales(g.k_dtype, amax[0], 4, scales[0],
                                                              g.n_k_scales, NULL));
            assert_status(QUIRE_OK, quire_kv_calibrate_scales(g.v_dtype, amax[1], 4, scales[1],
                                                              g.n_v_scales, NULL));
            struct quire_kv_cache *kv = kv_make(&g, 1, 16, NULL);
            int32_t block;
            kv_take(kv, 0, 1, &block);
            const int64_t slots[] = { block * 16, block * 16 + 9 };
            for (uint32_t layer = 0; layer < 2; layer++) {
                const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                                       .layer = layer,
                                                       .k = k + layer * 64,
                                                       .v = v + layer * 64,
                                                       .slot_mapping = slots,
                                                       .n_tokens = 2 };
                assert_status(QUIRE_OK, quire_kv_write(kv, &w, NULL, NULL));
            }
            assert_int_equal(quire_kv_clipped(kv), 0);
            quire_kv_destroy(kv);
        }
}

static void bad_calls(struct quire_kv_calibrate_args ok, float *k_amax, float *v_amax)
{
    struct quire_kv_calibrate_args a;
#define REFUSES(field, value, code, text)                                                          \
    do {                                                                                           \
        a = ok;                                                                                    \
        a.field = value;                                                                           \
        assert_fails(code, text, quire_kv_calibrate(&a, k_amax, v_amax, &err));                    \
    } while (0)
    REFUSES(struct_size, 8, QUIRE_E_MISUSE, "struct_size");
    REFUSES(n_kv_heads, 0, QUIRE_E_INVALID_ARG, "n_kv_heads");
    REFUSES(head_size, 0, QUIRE_E_INVALID_ARG, "head_size 0");
    REFUSES(head_size, 1025, QUIRE_E_INVALID_ARG, "head_size 1025");
    REFUSES(v_head_size, 1025, QUIRE_E_INVALID_ARG, "v_head_size 1025");
    REFUSES(dtype, QUIRE_KV_FP8_E4M3, QUIRE_E_INVALID_ARG, "dtype");
    REFUSES(dtype, (enum quire_kv_dtype) - 1, QUIRE_E_INVALID_ARG, "dtype");
    REFUSES(k_head_stride, KD - 1, QUIRE_E_INVALID_ARG, "k: rows");
    REFUSES(v_token_stride, 1, QUIRE_E_INVALID_ARG, "v: rows");
    REFUSES(n_tokens, SIZE_MAX, QUIRE_E_INVALID_ARG, "overflow");
    REFUSES(n_kv_heads, UINT32_MAX, QUIRE_E_INVALID_ARG, "overlap");
#undef REFUSES
}

static void bad_arguments(void **state)
{
    (void)state;
    float k_amax[HEADS] = { 7, 7, 7 }, v_amax[HEADS] = { 7, 7, 7 };
    fill(k, 100);
    fill(v, 100);
    struct quire_kv_calibrate_args ok = args_of(k, v);
    ok.k_token_stride = ok.v_token_stride = 100;
    bad_calls(ok, k_amax, v_amax);
    assert_fails(QUIRE_E_INVALID_ARG, "args", quire_kv_calibrate(NULL, k_amax, v_amax, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "k_amax", quire_kv_calibrate(&ok, NULL, v_amax, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "v_amax", quire_kv_calibrate(&ok, k_amax, NULL, &err));
    for (int h = 0; h < HEADS; h++)
        assert_true(k_amax[h] == 7 && v_amax[h] == 7);
    const float amax[] = { 1, 2, 3 }, below[] = { 1, -1 }, nan[] = { NAN }, inf[] = { 0, INFINITY };
    float scales[3] = { 9, 9, 9 };
    const enum quire_kv_dtype type = QUIRE_KV_FP8_E4M3;
#define BAD(text, ...)                                                                             \
    assert_fails(QUIRE_E_INVALID_ARG, text, quire_kv_calibrate_scales(__VA_ARGS__, &err))
    BAD("dtype 7", (enum quire_kv_dtype)7, amax, 3, scales, 3);
    BAD("amax is NULL", type, NULL, 3, scales, 3);
    BAD("scales is NULL", type, amax, 3, NULL, 3);
    BAD("n_scales 2", type, amax, 3, scales, 2);
    BAD("n_scales 0", type, amax, 3, scales, 0);
    BAD("n_amax 0", type, amax, 0, scales, 1);
    BAD("amax[1] -1", type, below, 2, scales, 1);
    BAD("amax[0] nan", type, nan, 1, scales, 1);
    BAD("amax[1] inf", type, inf, 2, scales, 2);
#undef BAD
    assert_true(scales[0] == 9 && scales[1] == 9 && scales[2] == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amax_per_head),
        cmocka_unit_test(dtypes_and_missing_rows),
        cmocka_unit_test(nan_and_infinity_are_ignored),
        cmocka_unit_test(scales_by_formula),
        cmocka_unit_test(observed_values_fit),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
