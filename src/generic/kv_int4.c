/* SPDX-License-Identifier: Apache-2.0 */
/* kv_int4.c - quantization and dequantization of int4 rows, and the Walsh-Hadamard transform. */
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const uint8_t levels[] = QR_INT4_LEVELS;

/* One unit of a float of five significant bits; scales that are tried, and the number of them that
 * are below amax / 20. */
enum { UNIT = 1 << 19, N_SCALES = 8, N_BELOW = 4 };

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static float level_of(int code) { return (float)(levels[code] - QR_INT4_BIAS); }

/* Number of positive levels below the one nearest to a magnitude; of two, the lower is taken. A
 * branch would be mispredicted for every other value. */
static int nearest(float a)
{
    return (a > 2) + (a > 4) + (a > 6) + (a > 8.5f) + (a > 11) + (a > 14) + (a > 18);
}

/* Squared error of magnitudes with a scale: 16 sums of two values each, added by a tree. */
static float squared_error(const float *x, float scale)
{
    const float inverse = 1 / scale;
    float sum[16];
    for (int i = 0; i < 16; i++) {
        const float a = x[i] - scale * level_of(8 + nearest(x[i] * inverse)),
                    b = x[i + 16] - scale * level_of(8 + nearest(x[i + 16] * inverse));
        const float aa = a * a, bb = b * b;
        sum[i] = aa + bb;
    }
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++)
            sum[i] += sum[i + h];
    return sum[0];
}

/* Quantizes one group. Returns the number of values that int4 cannot represent. */
static size_t quantize_group(uint8_t *codes, uint16_t *scale, const float *x)
{
    size_t n_clipped = 0;
    float amax = 0, best = INFINITY, y[QR_INT4_GROUP];
    bool finite = true;
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        n_clipped += isinf(x[i]) != 0;
        finite &= isfinite(x[i]) != 0;
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    }
    memset(codes, 0x88, QR_INT4_GROUP / 2);
    *scale = finite ? 0 : 0x7fc0;
    if (!finite)
        return n_clipped;
    uint32_t bits = bits_of(amax / 20) & ~(uint32_t)(UNIT - 1);
    if (bits < bits_of(0x1p-100f))
        return 0;
    const bool capped = bits > bits_of(QR_INT4_SCALE_MAX);
    bits = capped ? bits_of(QR_INT4_SCALE_MAX) : bits;
    /* x and the scales times the power of two that makes amax / 20 a number in 1 .. 2 */
    const uint32_t exponent = bits & 0x7f800000, one = bits_of(1);
    const float power = float_of(2 * one - exponent);
    int offset = capped ? 0 : -N_BELOW;
    for (int i = 0; i < QR_INT4_GROUP; i++)
        y[i] = fabsf(x[i]) * power;
    for (int i = -N_BELOW; i < N_SCALES - N_BELOW && !capped; i++) {
        const float error =
            squared_error(y, float_of(bits - exponent + one + (uint32_t)(i * UNIT)));
        offset = error < best ? i : offset;
        best = error < best ? error : best;
    }
    bits += (uint32_t)(offset * UNIT);
    const float inverse = 1 / float_of(bits - exponent + one);
    memset(codes, 0, QR_INT4_GROUP / 2);
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const float z = y[i] * inverse;
        const int code = x[i] < 0 ? 7 - nearest(z) : 8 + nearest(z);
        n_clipped += capped && z > 22;
        codes[i % 16] |= (uint8_t)(code << (i / 16 * 4));
    }
    *scale = (uint16_t)(bits >> 16);
    return n_clipped;
}

size_t qr_quantize_int4_generic(uint8_t *dst, const float *src, size_t n)
{
    size_t n_clipped = 0;
    for (size_t g = 0; g < n / QR_INT4_GROUP; g++) {
        uint16_t scale;
        n_clipped += quantize_group(dst + g * 16, &scale, src + g * QR_INT4_GROUP);
        memcpy(dst + n / 2 + g * sizeof scale, &scale, sizeof scale);
    }
    return n_clipped;
}

void qr_dequantize_int4_generic(float *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t g = i / QR_INT4_GROUP;
        uint16_t bits;
        memcpy(&bits, src + n / 2 + g * sizeof bits, sizeof bits);
        const int code = src[g * 16 + i % 16] >> (i % QR_INT4_GROUP / 16 * 4) & 15;
        dst[i] = level_of(code) * float_of((uint32_t)bits << 16);
    }
}

void qr_hadamard_generic(float *x, size_t block, size_t n)
{
    const float factor = (float)(1 / sqrt((double)block));
    for (size_t h = 1; h < block; h *= 2)
        for (size_t i = 0; i < n; i++)
            if (!(i & h)) {
                const float a = x[i], b = x[i + h];
                x[i] = a + b;
                x[i + h] = a - b;
            }
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}
