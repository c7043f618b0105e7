/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert_tpl.h - quantization and dequantization of KV cache elements.
 *
 * Needs QR_ISA. The code is branch-free, so that the compiler vectorizes the loops. The bits are
 * those of generic/kv_convert.c. */
#include "template/common_tpl.h"
#include <string.h>

/* Mantissa bits, and f32 exponent field of the smallest normal number. */
enum { F16_MAN = 10, F16_MIN = 113, E5M2_MAN = 2, E5M2_MIN = 113, E4M3_MAN = 3, E4M3_MIN = 121 };

QR_INLINE uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

QR_INLINE float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Code of an f32 magnitude in a format with `man` mantissa bits whose smallest normal number has
 * the f32 exponent field `min`. Below it the shift grows and the exponent stays 0. Codes continue
 * to rise beyond the largest finite one; the code of NaN is undefined. (An f32 denormal is shifted
 * out, so its missing hidden bit does not matter.) */
QR_INLINE uint32_t round_magnitude(uint32_t magnitude, uint32_t man, uint32_t min)
{
    const uint32_t exp = magnitude >> 23;
    const uint32_t below = exp < min ? min - exp : 0;
    const uint32_t wanted = 23 - man + below, shift = wanted < 31 ? wanted : 31;
    const uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
    const uint32_t odd = significand >> shift & 1;
    return ((exp + below - min) << man) + ((significand + (1u << (shift - 1)) - 1 + odd) >> shift);
}

QR_INLINE uint32_t quantize_code(uint32_t bits, uint32_t man, uint32_t min, uint32_t max_finite,
                                 uint32_t overflow, uint32_t nan, uint32_t *clipped)
{
    const uint32_t magnitude = bits & 0x7fffffff, is_nan = magnitude > 0x7f800000;
    const uint32_t code = round_magnitude(magnitude, man, min);
    *clipped += (code > max_finite) & !is_nan;
    const uint32_t finite = code > max_finite ? overflow : code;
    return is_nan ? nan : finite;
}

QR_INLINE uint16_t quantize_one_bf16(float x, uint32_t *clipped)
{
    const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff,
                   is_nan = magnitude > 0x7f800000;
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    *clipped += ((rounded & 0x7fff) >= 0x7f80) & !is_nan;
    return (uint16_t)(is_nan ? 0xffff : rounded);
}

QR_INLINE uint16_t quantize_one_f16(float x, uint32_t *clipped)
{
    const uint32_t bits = float_bits(x), nan = 0x7e00 | (bits >> 13 & 0x1ff);
    const uint32_t code = quantize_code(bits, F16_MAN, F16_MIN, 0x7bff, 0x7c00, nan, clipped);
    return (uint16_t)((bits >> 16 & 0x8000) | code);
}

QR_INLINE uint8_t quantize_one_fp8_e4m3(float x, uint32_t *clipped)
{
    const uint32_t bits = float_bits(x);
    const uint32_t code = quantize_code(bits, E4M3_MAN, E4M3_MIN, 0x7e, 0x7e, 0x7f, clipped);
    return (uint8_t)((bits >> 24 & 0x80) | code);
}

QR_INLINE uint8_t quantize_one_fp8_e5m2(float x, uint32_t *clipped)
{
    const uint32_t bits = float_bits(x);
    const uint32_t code = quantize_code(bits, E5M2_MAN, E5M2_MIN, 0x7b, 0x7b, 0x7f, clipped);
    return (uint8_t)((bits >> 24 & 0x80) | code);
}

/* cond ? a : b by masks. With a conditional expression the compiler moves the float product of a
 * denormal into a branch and no longer vectorizes the loop. */
QR_INLINE uint32_t choose(_Bool cond, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0u - (uint32_t)cond;
    return (a & mask) | (b & ~mask);
}

QR_INLINE float dequantize_one_bf16(uint16_t code) { return bits_float((uint32_t)code << 16); }

/* A denormal is an integer times a power of two: both factors and the product are normal numbers
 * or zero, so the product is exact whatever the denormal flags are. */
QR_INLINE float dequantize_one_f16(uint16_t code)
{
    const uint32_t exp = code >> 10 & 31, man = code & 0x3ff;
    const uint32_t subnormal = float_bits((float)(int32_t)man * 0x1p-24f);
    const uint32_t normal = (exp + 112) << 23 | man << 13;
    const uint32_t special = 0x7f800000 | (man ? 0x400000u : 0) | man << 13;
    const uint32_t finite = choose(exp != 0, normal, subnormal);
    return bits_float((uint32_t)(code & 0x8000) << 16 | choose(exp == 31, special, finite));
}

QR_INLINE float dequantize_one_fp8_e4m3(uint8_t code)
{
    const uint32_t exp = code >> 3 & 15, man = code & 7;
    const uint32_t subnormal = float_bits((float)(int32_t)man * 0x1p-9f);
    const uint32_t normal = (exp + 120) << 23 | man << 20;
    const uint32_t finite = choose(exp != 0, normal, subnormal);
    return bits_float((uint32_t)(code & 0x80) << 24 |
                      choose((code & 0x7f) == 0x7f, 0x7ff00000, finite));
}

QR_INLINE float dequantize_one_fp8_e5m2(uint8_t code)
{
    return dequantize_one_f16((uint16_t)(code << 8));
}

#define CONVERSIONS(name, type)                                                                    \
    size_t QR_KERNEL(quantize_##name)(type *restrict dst, const float *restrict src, float scale,  \
                                      size_t n)                                                    \
    {                                                                                              \
        uint32_t clipped = 0;                                                                      \
        if (scale == 1)                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = quantize_one_##name(src[i], &clipped);                                    \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = quantize_one_##name(src[i] / scale, &clipped);                            \
        return clipped;                                                                            \
    }                                                                                              \
    void QR_KERNEL(dequantize_##name)(float *restrict dst, const type *restrict src, float scale,  \
                                      size_t n)                                                    \
    {                                                                                              \
        if (scale == 1)                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = dequantize_one_##name(src[i]);                                            \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = dequantize_one_##name(src[i]) * scale;                                    \
    }
CONVERSIONS(bf16, uint16_t)
CONVERSIONS(f16, uint16_t)
CONVERSIONS(fp8_e4m3, uint8_t)
CONVERSIONS(fp8_e5m2, uint8_t)

/* Number of infinities in a row, which int8 cannot represent. */
static size_t count_infinite(const float *src, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (float_bits(src[i]) & 0x7fffffff) == 0x7f800000;
    return count;
}

size_t QR_KERNEL(quantize_int8)(int8_t *restrict dst, const float *restrict src,
                                float *restrict scale, size_t n)
{
    /* added to a small number it rounds that to nearest even, into the lowest bits of the sum */
    const float round = 0x1.8p23f;
    uint32_t max = 0; /* of magnitudes as bits: NaN and infinity compare above all numbers */
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = float_bits(src[i]) & 0x7fffffff;
        max = magnitude > max ? magnitude : max;
    }
    const float amax = bits_float(max);
    if (max >= 0x7f800000 || amax < 0x1p-100f) {
        memset(dst, 0, n);
        *scale = max >= 0x7f800000 ? bits_float(0x7fc00000) : 0;
        return max >= 0x7f800000 ? count_infinite(src, n) : 0;
    }
    const float inverse = 127 / amax;
    for (size_t i = 0; i < n; i++)
        dst[i] = (int8_t)(float_bits(src[i] * inverse + round) & 0xff);
    const float quotient = amax / 127;
    *scale = quotient < QR_INT8_SCALE_MAX ? quotient : QR_INT8_SCALE_MAX;
    return 0;
}

void QR_KERNEL(dequantize_int8)(float *restrict dst, const int8_t *restrict src, float scale,
                                size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i] * scale;
}

#include "template/kv_int4_tpl.h"

void QR_KERNEL(init_kv)(struct qr_kernels *k)
{
    QR_SET(k, quantize_bf16);
    QR_SET(k, quantize_f16);
    QR_SET(k, quantize_fp8_e4m3);
    QR_SET(k, quantize_fp8_e5m2);
    QR_SET(k, quantize_int8);
    QR_SET(k, dequantize_bf16);
    QR_SET(k, dequantize_f16);
    QR_SET(k, dequantize_fp8_e4m3);
    QR_SET(k, dequantize_fp8_e5m2);
    QR_SET(k, dequantize_int8);
    QR_SET(k, quantize_int4);
    QR_SET(k, dequantize_int4);
    QR_SET(k, hadamard);
}
