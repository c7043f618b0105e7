/* SPDX-License-Identifier: Apache-2.0 */
/* check_kv.c - quantization and dequantization of KV cache elements against doubles, bit by bit. */
#include "kerncheck.h"
#include <math.h>
#include <string.h>

struct format {
    int exp_bits, man_bits;
    double largest;
    bool saturates;
    uint16_t sign;
};
static const struct format BF16 = { 8, 7, 0x1.fep127, false, 0x8000 };
static const struct format F16 = { 5, 10, 65504, false, 0x8000 };
static const struct format E4M3 = { 4, 3, 448, true, 0x80 };
static const struct format E5M2 = { 5, 2, 57344, true, 0x80 };

static float from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static double value(const struct format *f, uint16_t code)
{
    if (f == &BF16)
        return (double)kc_bf16_value(code);
    if (f == &F16)
        return (double)kc_f16_value(code);
    return (double)kc_fp8_value((uint8_t)code, f == &E5M2);
}

/* x rounded to the precision of the format, whose range is unlimited here */
static double on_grid(const struct format *f, double x)
{
    int e;
    const int e_min = 2 - (1 << (f->exp_bits - 1));
    frexp(x, &e);
    const int unit = (e - 1 > e_min ? e - 1 : e_min) - f->man_bits;
    return ldexp(nearbyint(ldexp(x, -unit)), unit);
}

/* Whether `code` is the quantized x; counts clipped values. */
static bool right_code(const struct format *f, float x, uint16_t code, size_t *n_clipped)
{
    const double got = value(f, code);
    if (isnan(x))
        return isnan(got);
    if (!signbit(x) != !(code & f->sign))
        return false;
    const double r = isinf(x) ? (double)x : on_grid(f, (double)x);
    if (fabs(r) <= f->largest)
        return got == r;
    ++*n_clipped;
    return fabs(got) == (f->saturates ? f->largest : (double)INFINITY);
}

static float random_input(struct kc_env *env)
{
    const uint32_t u = kc_u32(env);
    switch (kc_int(env, 0, 5)) {
    case 0:
        return from_bits(u); /* any bits, also NaN and denormals */
    case 1:
        return from_bits((u & 0x80000000) | 0x7f800000 | (u & 1));
    case 2: /* ties and their neighbors at every width */
        return from_bits((u & (0xfffffff8u << kc_int(env, 0, 20))) + (uint32_t)kc_int(env, -1, 1));
    case 3:
        return (float)kc_int(env, -300, 300) * 0x1p-10f;
    case 4:
        return kc_normal(env) * 300;
    default:
        return kc_normal(env);
    }
}

/* Lengths: all small ones first, then random ones. */
static size_t random_length(struct kc_env *env, int round)
{
    return round < 40 ? (size_t)round : (size_t)kc_int(env, 0, 1100);
}

typedef size_t quantize16_fn(uint16_t *dst, const float *src, float scale, size_t n);
typedef size_t quantize8_fn(uint8_t *dst, const float *src, float scale, size_t n);
typedef void dequantize16_fn(float *dst, const uint16_t *src, float scale, size_t n);
typedef void dequantize8_fn(float *dst, const uint8_t *src, float scale, size_t n);

static float random_scale(struct kc_env *env)
{
    return kc_int(env, 0, 1) ? 1 : kc_uniform(env, 0.001f, 4);
}

static bool compare_quantized(struct kc_env *env, const struct format *f, const float *src,
                              const void *dst, float scale, size_t n, size_t n_clipped)
{
    size_t want_clipped = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t code =
            f->sign == 0x80 ? ((const uint8_t *)dst)[i] : ((const uint16_t *)dst)[i];
        if (!right_code(f, scale == 1 ? src[i] : src[i] / scale, code, &want_clipped)) {
            kc_fail(env, "0x%08x / %g gave 0x%x, element %zu of %zu", to_bits(src[i]),
                    (double)scale, code, i, n);
            return false;
        }
    }
    if (n_clipped != want_clipped)
        kc_fail(env, "%zu of %zu values counted as clipped, not %zu", n_clipped, n, want_clipped);
    else if (!kc_intact(src) || !kc_intact(dst))
        kc_fail(env, "wrote outside its range, n = %zu", n);
    return env->failures == 0;
}

static void check_quantize(struct kc_env *env, kc_fn fn, const struct format *f)
{
    const bool one_byte = f->sign == 0x80;
    for (int round = 0; round < 40 + env->rounds; round++) {
        const size_t n = random_length(env, round);
        const float scale = random_scale(env);
        float *src = round % 2 ? kc_buffer_end(n * sizeof *src) : kc_buffer_begin(n * sizeof *src);
        void *dst = round % 2 ? kc_buffer_end(n << !one_byte) : kc_buffer_begin(n << !one_byte);
        for (size_t i = 0; i < n; i++)
            src[i] = random_input(env);
        const size_t n_clipped = one_byte ? ((quantize8_fn *)fn)(dst, src, scale, n)
                                          : ((quantize16_fn *)fn)(dst, src, scale, n);
        if (!compare_quantized(env, f, src, dst, scale, n, n_clipped))
            return;
        kc_release();
    }
}

static bool compare_dequantized(struct kc_env *env, const struct format *f, const void *src,
                                const float *dst, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t code =
            f->sign == 0x80 ? ((const uint8_t *)src)[i] : ((const uint16_t *)src)[i];
        const double v = value(f, code);
        const float want = scale == 1 ? (float)v : (float)v * scale;
        if (isnan(v) ? !isnan(dst[i]) : to_bits(want) != to_bits(dst[i])) {
            kc_fail(env, "code 0x%x * %g gave 0x%08x, not 0x%08x", code, (double)scale,
                    to_bits(dst[i]), to_bits(want));
            return false;
        }
    }
    if (!kc_intact(src) || !kc_intact(dst))
        kc_fail(env, "wrote outside its range, n = %zu", n);
    return env->failures == 0;
}

static void check_dequantize(struct kc_env *env, kc_fn fn, const struct format *f)
{
    const bool one_byte = f->sign == 0x80;
    const int n_codes = one_byte ? 256 : 65536;
    for (int round = 0; round < 40 + env->rounds; round++) {
        /* the last round converts every code */
        const size_t n = round == 39 + env->rounds ? (size_t)n_codes : random_length(env, round);
        const float scale = random_scale(env);
        void *src = round % 2 ? kc_buffer_end(n << !one_byte) : kc_buffer_begin(n << !one_byte);
        float *dst = round % 2 ? kc_buffer_end(n * sizeof *dst) : kc_buffer_begin(n * sizeof *dst);
        for (size_t i = 0; i < n; i++) {
            const uint32_t code = n == (size_t)n_codes ? (uint32_t)i : kc_u32(env);
            if (one_byte)
                ((uint8_t *)src)[i] = (uint8_t)code;
            else
                ((uint16_t *)src)[i] = (uint16_t)code;
        }
        if (one_byte)
            ((dequantize8_fn *)fn)(dst, src, scale, n);
        else
            ((dequantize16_fn *)fn)(dst, src, scale, n);
        if (!compare_dequantized(env, f, src, dst, scale, n))
            return;
        kc_release();
    }
}

/* ---- int8 rows */

typedef size_t quantize_int8_fn(int8_t *dst, const float *src, float *scale, size_t n);
typedef void dequantize_int8_fn(float *dst, const int8_t *src, float scale, size_t n);

/* Rows of one magnitude, sometimes tiny or huge, with ties, or with special values. */
static void random_row(struct kc_env *env, float *x, size_t n)
{
    const int kind = kc_int(env, 0, 9);
    const float size = kind == 0 ? ldexpf(1, kc_int(env, -149, 127)) : kind == 1 ? 0x1p127f : 3;
    for (size_t i = 0; i < n; i++)
        x[i] = kind == 2   ? (float)kc_int(env, -254, 254) / 2 /* ties, if one is 127 */
               : kind == 3 ? 0x1p-101f
                           : kc_uniform(env, -1, 1) * size;
    const uint32_t special[] = { 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                 0x7f7fffff, 0x80000000, 0x00000001, 0x42fe0000 /* 127 */ };
    for (int i = kc_int(env, 0, 1) ? kc_int(env, 1, 3) : 0; n && i > 0; i--)
        x[kc_int(env, 0, (int)n - 1)] = from_bits(special[kc_int(env, kind > 5 ? 4 : 0, 7)]);
}

/* The code of x in a row of largest magnitude amax, by the formula: the inverse and the product are
 * each rounded to f32. Double is precise enough for the double rounding to be harmless. */
static int int8_code(float x, float amax)
{
    const double inverse = (double)(float)(127.0 / (double)amax);
    return (int)nearbyint((double)(float)((double)x * inverse));
}

static bool compare_int8(struct kc_env *env, const float *src, const int8_t *dst, float scale,
                         size_t n, size_t n_clipped)
{
    size_t infinite = 0, nan = 0;
    float amax = 0;
    for (size_t i = 0; i < n; i++) {
        infinite += isinf(src[i]) != 0;
        nan += isnan(src[i]) != 0;
        amax = fmaxf(amax, fabsf(src[i]));
    }
    const bool zero = infinite || nan || amax < 0x1p-100f;
    const float want = zero ? 0 : fminf((float)((double)amax / 127), 0x1.020406p121f);
    if (infinite || nan ? !isnan(scale) : scale != want)
        kc_fail(env, "n = %zu: scale %a, not %a", n, (double)scale, (double)want);
    if (n_clipped != infinite)
        kc_fail(env, "%zu of %zu values counted as clipped, not %zu", n_clipped, n, infinite);
    for (size_t i = 0; i < n && !env->failures; i++)
        if (dst[i] != (zero ? 0 : int8_code(src[i], amax)))
            kc_fail(env, "element %zu of %zu: %a of %a gave %d", i, n, (double)src[i], (double)amax,
                    dst[i]);
    if (!kc_intact(src) || !kc_intact(dst))
        kc_fail(env, "wrote outside its range, n = %zu", n);
    return env->failures == 0;
}

static void check_quantize_int8(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < 40 + env->rounds; round++) {
        const size_t n = random_length(env, round);
        float *src = round % 2 ? kc_buffer_end(n * sizeof *src) : kc_buffer_begin(n * sizeof *src);
        int8_t *dst = round % 2 ? kc_buffer_end(n) : kc_buffer_begin(n);
        float scale = -1;
        random_row(env, src, n);
        const size_t n_clipped = ((quantize_int8_fn *)fn)(dst, src, &scale, n);
        if (!compare_int8(env, src, dst, scale, n, n_clipped))
            return;
        kc_release();
    }
}

static void check_dequantize_int8(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < 40 + env->rounds; round++) {
        const size_t n = random_length(env, round);
        const float scale = kc_int(env, 0, 9) ? random_scale(env) : NAN;
        int8_t *src = round % 2 ? kc_buffer_end(n) : kc_buffer_begin(n);
        float *dst = round % 2 ? kc_buffer_end(n * sizeof *dst) : kc_buffer_begin(n * sizeof *dst);
        for (size_t i = 0; i < n; i++)
            src[i] = (int8_t)(kc_u32(env) & 0xff);
        ((dequantize_int8_fn *)fn)(dst, src, scale, n);
        for (size_t i = 0; i < n && !env->failures; i++) {
            const float want = (float)((double)src[i] * (double)scale);
            if (isnan(want) ? !isnan(dst[i]) : dst[i] != want)
                kc_fail(env, "%d * %g gave %g", src[i], (double)scale, (double)dst[i]);
        }
        if (!kc_intact(src) || !kc_intact(dst))
            kc_fail(env, "wrote outside its range, n = %zu", n);
        if (env->failures)
            return;
        kc_release();
    }
}

#define CHECKS(name, format)                                                                       \
    static void check_quantize_##name(struct kc_env *env, kc_fn fn)                                \
    {                                                                                              \
        check_quantize(env, fn, &format);                                                          \
    }                                                                                              \
    static void check_dequantize_##name(struct kc_env *env, kc_fn fn)                              \
    {                                                                                              \
        check_dequantize(env, fn, &format);                                                        \
    }
CHECKS(bf16, BF16)
CHECKS(f16, F16)
CHECKS(fp8_e4m3, E4M3)
CHECKS(fp8_e5m2, E5M2)

const struct kc_checker kc_checkers_kv[] = {
    { "quantize_bf16", check_quantize_bf16 },
    { "quantize_f16", check_quantize_f16 },
    { "quantize_fp8_e4m3", check_quantize_fp8_e4m3 },
    { "quantize_fp8_e5m2", check_quantize_fp8_e5m2 },
    { "quantize_int8", check_quantize_int8 },
    { "dequantize_bf16", check_dequantize_bf16 },
    { "dequantize_f16", check_dequantize_f16 },
    { "dequantize_fp8_e4m3", check_dequantize_fp8_e4m3 },
    { "dequantize_fp8_e5m2", check_dequantize_fp8_e5m2 },
    { "dequantize_int8", check_dequantize_int8 },
    { 0 },
};
