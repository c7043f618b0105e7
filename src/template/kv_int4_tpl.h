/* SPDX-License-Identifier: Apache-2.0 */
/* kv_int4_tpl.h - quantization and dequantization of int4 rows, and the Walsh-Hadamard transform.
 *
 * Included by kv_convert_tpl.h. The compiler vectorizes the loops over a group. The bits are those
 * of generic/kv_int4.c. */
#include "template/int4_level_tpl.h"

enum {
    INT4_UNIT = 1 << 19, /* of a float of five significant bits */
    INT4_SCALES = 8,     /* that are tried, */
    INT4_BELOW = 4,      /* of these below amax / 20 */
};

/* Magnitude of the level nearest to +-a. Comparisons and sums, so that it is vectorized. */
QR_INLINE float int4_nearest(float a)
{
    return 1.0f + (a > 2 ? 2.0f : 0.0f) + (a > 4 ? 2.0f : 0.0f) + (a > 6 ? 2.0f : 0.0f) +
           (a > 8.5f ? 3.0f : 0.0f) + (a > 11 ? 2.0f : 0.0f) + (a > 14 ? 4.0f : 0.0f) +
           (a > 18 ? 4.0f : 0.0f);
}

/* Squared error of a group, given as magnitudes, with a scale. */
QR_INLINE float int4_squared_error(const float *magnitude, float scale)
{
    const float inverse = 1 / scale;
    float error[QR_INT4_GROUP], sum[16];
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const float a = magnitude[i] - scale * int4_nearest(magnitude[i] * inverse);
        error[i] = a * a;
    }
    for (int i = 0; i < 16; i++)
        sum[i] = error[i] + error[i + 16];
    for (int i = 0; i < 8; i++)
        sum[i] += sum[i + 8];
    for (int i = 0; i < 4; i++)
        sum[i] += sum[i + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* Units of the best scale relative to amax / 20. bits: of that number, in 1 .. 2. */
QR_INLINE int32_t int4_best_scale(const float *magnitude, uint32_t bits)
{
    float best = bits_float(0x7f800000);
    int32_t offset = -INT4_BELOW;
    for (int32_t i = -INT4_BELOW; i < INT4_SCALES - INT4_BELOW; i++) {
        const float error =
            int4_squared_error(magnitude, bits_float(bits + (uint32_t)(i * INT4_UNIT)));
        offset = error < best ? i : offset;
        best = error < best ? error : best;
    }
    return offset;
}

QR_INLINE size_t int4_quantize_group(uint8_t *restrict codes, uint16_t *restrict scale,
                                     const float *restrict x)
{
    const uint32_t one = 0x3f800000;
    uint32_t max = 0; /* as bits: positive floats are ordered like integers */
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const uint32_t magnitude = float_bits(x[i]) & 0x7fffffff;
        max = magnitude > max ? magnitude : max;
    }
    memset(codes, 0x88, QR_INT4_GROUP / 2);
    *scale = max >= 0x7f800000 ? 0x7fc0 : 0;
    if (max >= 0x7f800000)
        return count_infinite(x, QR_INT4_GROUP);
    uint32_t bits = float_bits(bits_float(max) / 20) & ~(uint32_t)(INT4_UNIT - 1);
    if (bits < float_bits(0x1p-100f))
        return 0;
    const int capped = bits > float_bits(QR_INT4_SCALE_MAX);
    bits = capped ? float_bits(QR_INT4_SCALE_MAX) : bits;
    const uint32_t exponent = bits & 0x7f800000;
    const float power = bits_float(2 * one - exponent);
    float magnitude[QR_INT4_GROUP];
    for (int i = 0; i < QR_INT4_GROUP; i++)
        magnitude[i] = bits_float(float_bits(x[i]) & 0x7fffffff) * power;
    if (!capped)
        bits += (uint32_t)(int4_best_scale(magnitude, bits - exponent + one) * INT4_UNIT);
    const float inverse = 1 / bits_float(bits - exponent + one);
    int32_t code[QR_INT4_GROUP];
    uint32_t n_clipped = 0;
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const float a = magnitude[i] * inverse;
        const int32_t j = (a > 2) + (a > 4) + (a > 6) + (a > 8.5f) + (a > 11) + (a > 14) + (a > 18);
        code[i] = x[i] < 0 ? 7 - j : 8 + j;
        n_clipped += a > 22;
    }
    for (int i = 0; i < 16; i++)
        codes[i] = (uint8_t)(code[i] | code[i + 16] << 4);
    *scale = (uint16_t)(bits >> 16);
    return capped ? n_clipped : 0;
}

size_t QR_KERNEL(quantize_int4)(uint8_t *dst, const float *src, size_t n)
{
    size_t n_clipped = 0;
    for (size_t g = 0; g < n / QR_INT4_GROUP; g++) {
        uint16_t scale;
        n_clipped += int4_quantize_group(dst + g * 16, &scale, src + g * QR_INT4_GROUP);
        memcpy(dst + n / 2 + g * sizeof scale, &scale, sizeof scale);
    }
    return n_clipped;
}

void QR_KERNEL(dequantize_int4)(float *restrict dst, const uint8_t *restrict src, size_t n)
{
    for (size_t g = 0; g < n / QR_INT4_GROUP; g++, dst += QR_INT4_GROUP) {
        uint16_t bits;
        memcpy(&bits, src + n / 2 + g * sizeof bits, sizeof bits);
        const float scale = dequantize_one_bf16(bits);
        const uint8_t *codes = src + g * 16;
        for (int i = 0; i < 16; i++) {
            dst[i] = (float)int4_level(codes[i] & 15) * scale;
            dst[i + 16] = (float)int4_level(codes[i] >> 4) * scale;
        }
    }
}

/* One stage; h is a constant in each call. */
QR_INLINE void hadamard_stage(float *x, size_t n, const size_t h)
{
    for (size_t i = 0; i < n; i += 2 * h)
        for (size_t j = i; j < i + h; j++) {
            const float a = x[j], b = x[j + h];
            x[j] = a + b;
            x[j + h] = a - b;
        }
}

void QR_KERNEL(hadamard)(float *x, size_t block, size_t n)
{
    /* 1 / sqrt(2^i) to nearest */
    static const float factors[] = { 1,       0x1.6a09e6p-1f, 0x1p-1f, 0x1.6a09e6p-2f,
                                     0x1p-2f, 0x1.6a09e6p-3f, 0x1p-3f, 0x1.6a09e6p-4f,
                                     0x1p-4f, 0x1.6a09e6p-5f, 0x1p-5f };
    int log2 = 0;
    for (size_t b = block; b > 1; b /= 2)
        log2++;
    if (block > 1)
        hadamard_stage(x, n, 1);
    if (block > 2)
        hadamard_stage(x, n, 2);
    if (block > 4)
        hadamard_stage(x, n, 4);
    if (block > 8)
        hadamard_stage(x, n, 8);
    for (size_t h = 16; h < block; h *= 2)
        for (size_t i = 0; i < n; i += 2 * h)
            for (size_t j = i; j < i + h; j += 16)
                for (size_t l = j; l < j + 16; l++) {
                    const float a = x[l], b = x[l + h];
                    x[l] = a + b;
                    x[l + h] = a - b;
                }
    for (size_t i = 0; i < n; i++)
        x[i] *= factors[log2];
}
