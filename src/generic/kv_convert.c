/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert.c - quantization and dequantization of KV cache elements by integer arithmetic. */
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

static uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A binary format smaller than f32. */
struct format {
    int exp_bits, man_bits;
    uint32_t max_finite; /* code of the largest finite value */
    uint32_t overflow;   /* code of larger values */
    uint32_t first_nan;  /* first positive code that is NaN */
};
static const struct format F16 = { 5, 10, 0x7bff, 0x7c00, 0x7c01 };
static const struct format E4M3 = { 4, 3, 0x7e, 0x7e, 0x7f };
static const struct format E5M2 = { 5, 2, 0x7b, 0x7b, 0x7d };

/* value / 2^shift to nearest even */
static uint32_t shift_round(uint32_t value, int shift)
{
    if (shift > 31)
        return 0;
    const uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1),
                   half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* Code of the magnitude of an f32 that is not NaN. *clipped: above the largest finite value. */
static uint32_t quantize_magnitude(const struct format *f, uint32_t magnitude, bool *clipped)
{
    const int bias = (1 << (f->exp_bits - 1)) - 1, exp_min = 1 - bias;
    const int f32_exp = (int)(magnitude >> 23);
    const int exp = f32_exp ? f32_exp - 127 : -126;
    const uint32_t significand = (magnitude & 0x7fffff) | (f32_exp ? 0x800000u : 0);
    uint32_t code;
    if (exp >= exp_min) /* rounding up to the next power of two carries into the exponent */
        code =
            ((uint32_t)(exp - exp_min) << f->man_bits) + shift_round(significand, 23 - f->man_bits);
    else
        code = shift_round(significand, 23 - f->man_bits + exp_min - exp);
    *clipped = code > f->max_finite;
    return *clipped ? f->overflow : code;
}

static uint32_t dequantize_code(const struct format *f, uint32_t code)
{
    const int bias = (1 << (f->exp_bits - 1)) - 1, spare = 23 - f->man_bits;
    const uint32_t sign = code >> (f->exp_bits + f->man_bits) << 31;
    const uint32_t magnitude = code & ((1u << (f->exp_bits + f->man_bits)) - 1);
    const uint32_t exp = magnitude >> f->man_bits;
    uint32_t man = magnitude & ((1u << f->man_bits) - 1);
    if (magnitude >= f->first_nan)
        return sign | 0x7fc00000u | man << spare;
    if (magnitude > f->max_finite)
        return sign | 0x7f800000u;
    if (exp)
        return sign | (exp + (uint32_t)(127 - bias)) << 23 | man << spare;
    if (!man)
        return sign;
    uint32_t f32_exp = (uint32_t)(128 - bias); /* of the smallest normal; normalizes a denormal */
    for (; !(man >> f->man_bits); man <<= 1)
        f32_exp--;
    return sign | f32_exp << 23 | (man << spare & 0x7fffff);
}

static uint32_t quantize(const struct format *f, uint32_t bits, size_t *n_clipped)
{
    const uint32_t magnitude = bits & 0x7fffffff, sign = bits >> 31 << (f->exp_bits + f->man_bits);
    if (magnitude > 0x7f800000) /* NaN: f16 keeps the high bits of the payload, fp8 has none */
        return sign | (f->man_bits == 10 ? 0x7e00u | (magnitude >> 13 & 0x1ff) : 0x7fu);
    bool clipped;
    const uint32_t code = quantize_magnitude(f, magnitude, &clipped);
    *n_clipped += clipped;
    return sign | code;
}

static uint32_t quantize_bf16(uint32_t bits, size_t *n_clipped)
{
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return 0xffff;
    const uint32_t rounded = shift_round(magnitude, 16);
    *n_clipped += rounded >= 0x7f80;
    return bits >> 31 << 15 | rounded;
}

static uint32_t quantize_f16(uint32_t bits, size_t *n_clipped)
{
    return quantize(&F16, bits, n_clipped);
}
static uint32_t quantize_fp8_e4m3(uint32_t bits, size_t *n_clipped)
{
    return quantize(&E4M3, bits, n_clipped);
}
static uint32_t quantize_fp8_e5m2(uint32_t bits, size_t *n_clipped)
{
    return quantize(&E5M2, bits, n_clipped);
}
static uint32_t dequantize_bf16(uint32_t code) { return code << 16; }
static uint32_t dequantize_f16(uint32_t code) { return dequantize_code(&F16, code); }
static uint32_t dequantize_fp8_e4m3(uint32_t code) { return dequantize_code(&E4M3, code); }
static uint32_t dequantize_fp8_e5m2(uint32_t code) { return dequantize_code(&E5M2, code); }

/* Scale 1 has separate loops, because a division or multiplication by 1 is not exact for denormals
 * and signaling NaNs in every mode of the FPU. */
#define CONVERSIONS(name, type)                                                                    \
    size_t qr_quantize_##name##_generic(type *dst, const float *src, float scale, size_t n)        \
    {                                                                                              \
        size_t n_clipped = 0;                                                                      \
        if (scale == 1)                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = (type)quantize_##name(float_bits(src[i]), &n_clipped);                    \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = (type)quantize_##name(float_bits(src[i] / scale), &n_clipped);            \
        return n_clipped;                                                                          \
    }                                                                                              \
    void qr_dequantize_##name##_generic(float *dst, const type *src, float scale, size_t n)        \
    {                                                                                              \
        if (scale == 1)                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = bits_float(dequantize_##name(src[i]));                                    \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                dst[i] = bits_float(dequantize_##name(src[i])) * scale;                            \
    }
CONVERSIONS(bf16, uint16_t)
CONVERSIONS(f16, uint16_t)
CONVERSIONS(fp8_e4m3, uint8_t)
CONVERSIONS(fp8_e5m2, uint8_t)

size_t qr_quantize_int8_generic(int8_t *dst, const float *src, float *scale, size_t n)
{
    size_t n_infinite = 0;
    float amax = 0;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        n_infinite += isinf(src[i]) != 0;
        finite &= isfinite(src[i]) != 0;
        amax = fabsf(src[i]) > amax ? fabsf(src[i]) : amax;
    }
    const bool zero = !finite || amax < 0x1p-100f;
    const float inverse = zero ? 0 : 127 / amax;
    *scale = !finite ? NAN : zero ? 0 : fminf(amax / 127, QR_INT8_SCALE_MAX);
    for (size_t i = 0; i < n; i++)
        dst[i] = zero ? 0 : (int8_t)rintf(src[i] * inverse);
    return n_infinite;
}

void qr_dequantize_int8_generic(float *dst, const int8_t *src, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i] * scale;
}

void qr_init_kv_generic(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_bf16, generic);
    QR_SET_KERNEL(k, quantize_f16, generic);
    QR_SET_KERNEL(k, quantize_fp8_e4m3, generic);
    QR_SET_KERNEL(k, quantize_fp8_e5m2, generic);
    QR_SET_KERNEL(k, quantize_int8, generic);
    QR_SET_KERNEL(k, dequantize_bf16, generic);
    QR_SET_KERNEL(k, dequantize_f16, generic);
    QR_SET_KERNEL(k, dequantize_fp8_e4m3, generic);
    QR_SET_KERNEL(k, dequantize_fp8_e5m2, generic);
    QR_SET_KERNEL(k, dequantize_int8, generic);
    QR_SET_KERNEL(k, quantize_int4, generic);
    QR_SET_KERNEL(k, dequantize_int4, generic);
    QR_SET_KERNEL(k, hadamard, generic);
}
