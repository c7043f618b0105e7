/* SPDX-License-Identifier: Apache-2.0 */
/* check_kv_int4.c - int4 rows and the Walsh-Hadamard transform: errors of the values against the
 * bounds of docs/numerics.md, and bits against those of the generic level. */
#include "kerncheck.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = QR_INT4_GROUP, MAX_GROUPS = 32 };

typedef size_t quantize_fn(uint8_t *dst, const float *src, size_t n);
typedef void dequantize_fn(float *dst, const uint8_t *src, size_t n);
typedef void hadamard_fn(float *x, size_t block, size_t n);

static float scale_of(const uint8_t *row, size_t n, size_t g)
{
    uint16_t bits;
    memcpy(&bits, row + n / 2 + g * 2, sizeof bits);
    return kc_bf16_value(bits);
}

static const int LEVELS[] = { -20, -16, -12, -10, -7, -5, -3, -1, 1, 3, 5, 7, 10, 12, 16, 20 };

static int level_of(const uint8_t *row, size_t i)
{
    const uint8_t byte = row[i / GROUP * 16 + i % 16];
    return LEVELS[i % GROUP < 16 ? byte & 15 : byte >> 4];
}

/* Distance of x to the nearest multiple of scale by a level. */
static double distance(double x, double scale)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++)
        best = fmin(best, fabs(x - LEVELS[i] * scale));
    return best;
}

static double squared_error(const float *x, double scale)
{
    double sum = 0;
    for (size_t i = 0; i < GROUP; i++)
        sum += distance((double)x[i], scale) * distance((double)x[i], scale);
    return sum;
}

/* The number of five significant bits that is not above x, and the one i steps further. */
static double five_bits(double x, int i)
{
    int exponent;
    const int units = (int)(frexp(x, &exponent) * 32) + i; /* 16 .. 31, + i */
    return units >= 32   ? ldexp(16 + (units - 32), exponent - 4)
           : units >= 16 ? ldexp(units, exponent - 5)
                         : ldexp(16 + units, exponent - 6);
}

static void random_values(struct kc_env *env, float *x, size_t n)
{
    static const float magnitudes[] = { 1, 1e-3f, 1e10f, 1e-38f, 0x1p-99f, 0x1p102f, 3e38f, 0 };
    const float m = magnitudes[kc_int(env, 0, 1) ? 0 : kc_int(env, 0, 7)];
    for (size_t i = 0; i < n; i++)
        x[i] = m * (m > 1e30f ? kc_uniform(env, -1, 1) : kc_normal(env));
    if (!kc_int(env, 0, 3)) /* values between two levels */
        for (size_t i = 0; i < n; i++)
            x[i] = (float)kc_int(env, -44, 44) / 2;
    if (!kc_int(env, 0, 4))
        x[kc_int(env, 0, (int)n - 1)] = kc_int(env, 0, 1) ? NAN : -INFINITY;
}

/* Whether no other scale of those that are tried has a smaller squared error. */
static bool is_best(const float *x, double scale, double base)
{
    const double error = squared_error(x, scale);
    bool tried = false, best = true;
    for (int i = -4; i < 4; i++) {
        tried = tried || scale == five_bits(base, i);
        best = best && error <= squared_error(x, five_bits(base, i)) * (1 + 1e-5);
    }
    return tried && best;
}

/* Checks one group of a quantized row. Adds the number of values it cannot represent. */
static void check_group(struct kc_env *env, const float *x, const uint8_t *row, size_t n, size_t g,
                        size_t *n_clipped)
{
    const double scale = (double)scale_of(row, n, g), limit = 0x1p100;
    float amax = 0;
    bool finite = true;
    size_t infinite = 0, beyond = 0;
    for (size_t i = g * GROUP; i < (g + 1) * GROUP; i++) {
        finite = finite && isfinite(x[i]);
        infinite += isinf(x[i]) != 0;
        beyond += fabs((double)x[i]) > 22 * limit;
        amax = fmaxf(amax, fabsf(x[i]));
    }
    const float quotient = amax / 20;
    const double base = finite && amax > 0 ? five_bits((double)quotient, 0) : 0;
    *n_clipped += finite ? beyond : infinite;
    if (!finite || base < 0x1p-100) {
        if (finite ? scale != 0 : !isnan(scale))
            kc_fail(env, "group %zu: scale %a", g, scale);
        return;
    }
    if (base > limit ? scale != limit : !is_best(x + g * GROUP, scale, base))
        kc_fail(env, "group %zu: scale %a, largest magnitude %a", g, scale, (double)amax);
    for (size_t i = g * GROUP; i < (g + 1) * GROUP && !env->failures; i++) {
        const double value = (double)x[i], error = fabs(level_of(row, i) * scale - value);
        if (error > distance(value, scale) + 0x1p-18 * scale + 0x1p-22 * fabs(value))
            kc_fail(env, "x[%zu] = %a: level %d, scale %a", i, value, level_of(row, i), scale);
    }
}

static void check_quantize_int4(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < 40 + env->rounds && !env->failures; round++) {
        const size_t groups = (size_t)kc_int(env, 1, MAX_GROUPS), n = groups * GROUP,
                     bytes = n / 2 + groups * 2;
        float *x = kc_buffer_end(n * sizeof *x);
        uint8_t *row = round % 2 ? kc_buffer_end(bytes) : kc_buffer_begin(bytes),
                *ref = malloc(bytes);
        size_t want = 0;
        random_values(env, x, n);
        const size_t clipped = ((quantize_fn *)fn)(row, x, n),
                     generic = qr_quantize_int4_generic(ref, x, n);
        for (size_t g = 0; g < groups && !env->failures; g++)
            check_group(env, x, row, n, g, &want);
        if (!env->failures && (clipped != want || generic != want))
            kc_fail(env, "clipped %zu, not %zu (generic %zu)", clipped, want, generic);
        if (!env->failures && memcmp(row, ref, bytes) != 0)
            kc_fail(env, "n = %zu: differs from generic", n);
        if (!env->failures && (!kc_intact(row) || !kc_intact(x)))
            kc_fail(env, "wrote outside its range, n = %zu", n);
        free(ref);
        kc_release();
    }
}

static void check_dequantize_int4(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < 40 + env->rounds && !env->failures; round++) {
        const size_t groups = (size_t)kc_int(env, 1, MAX_GROUPS), n = groups * GROUP;
        uint8_t *row = kc_buffer_end(n / 2 + groups * 2);
        float *x = kc_buffer_end(n * sizeof *x);
        for (size_t i = 0; i < n / 2; i++)
            row[i] = (uint8_t)kc_u32(env);
        for (size_t g = 0; g < groups; g++) {
            const uint16_t bits =
                kc_bf16_bits(kc_int(env, 0, 9) ? expf(kc_uniform(env, -20, 20)) : NAN);
            memcpy(row + n / 2 + g * 2, &bits, sizeof bits);
        }
        ((dequantize_fn *)fn)(x, row, n);
        for (size_t i = 0; i < n && !env->failures; i++) {
            const float want = (float)(level_of(row, i) * (double)scale_of(row, n, i / GROUP));
            if (isnan(want) ? !isnan(x[i]) : x[i] != want)
                kc_fail(env, "value %zu is %a, not %a", i, (double)x[i], (double)want);
        }
        if (!env->failures && (!kc_intact(row) || !kc_intact(x)))
            kc_fail(env, "wrote outside its range, n = %zu", n);
        kc_release();
    }
}

/* Number of set bits, odd: the sign of an entry of the Hadamard matrix. */
static int odd(size_t bits) { return __builtin_popcountll(bits) & 1; }

static void check_hadamard(struct kc_env *env, kc_fn fn)
{
    for (int round = 0; round < 40 + env->rounds && !env->failures; round++) {
        const size_t block = (size_t)1 << kc_int(env, 0, 10),
                     n = block * (size_t)kc_int(env, 1, (int)(1024 / block));
        float *x = round % 2 ? kc_buffer_end(n * sizeof *x) : kc_buffer_begin(n * sizeof *x),
              *start = malloc(n * sizeof *start), *ref = malloc(n * sizeof *ref);
        kc_fill_normal(env, x, n, 1);
        memcpy(start, x, n * sizeof *x);
        memcpy(ref, x, n * sizeof *x);
        ((hadamard_fn *)fn)(x, block, n);
        qr_hadamard_generic(ref, block, n);
        for (size_t i = 0; i < n && !env->failures; i++) {
            double want = 0, sum = 0;
            for (size_t j = 0; j < block; j++) {
                const double y = (double)start[i / block * block + j];
                want += odd(i % block & j) ? -y : y;
                sum += fabs(y);
            }
            want /= sqrt((double)block);
            sum /= sqrt((double)block);
            const double ratio = fabs((double)x[i] - want) / (0x1p-20 * sum + 1e-37);
            env->worst = ratio > env->worst ? ratio : env->worst;
            if (ratio > 1 || memcmp(&x[i], &ref[i], sizeof *x) != 0)
                kc_fail(env, "block %zu: value %zu of %zu is %a, not %a", block, i, n, (double)x[i],
                        want);
        }
        if (!env->failures && !kc_intact(x))
            kc_fail(env, "wrote outside its range, n = %zu", n);
        free(start), free(ref);
        kc_release();
    }
}

const struct kc_checker kc_checkers_kv_int4[] = {
    { "quantize_int4", check_quantize_int4 },
    { "dequantize_int4", check_dequantize_int4 },
    { "hadamard", check_hadamard },
    { 0 },
};
