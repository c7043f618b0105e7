/* SPDX-License-Identifier: Apache-2.0 */
/* kv_int4.c - quantization and dequantization of int4 rows, and the Walsh-Hadamard transform. */
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Bits of a positive float, rounded up to five significant bits. */
static uint32_t round_scale_up(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return (u + 0x7ffff) & ~0x7ffffu;
}

/* Quantizes one group. Returns the number of values that int4 cannot represent. */
static size_t quantize_group(uint8_t *codes, uint16_t *scale, const float *x)
{
    size_t n_clipped = 0;
    float most = 0, least = 0, s;
    bool finite = true;
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        n_clipped += isinf(x[i]) != 0;
        finite &= isfinite(x[i]) != 0;
        most = x[i] > most ? x[i] : most;
        least = x[i] < least ? x[i] : least;
    }
    memset(codes, 0x88, QR_INT4_GROUP / 2);
    *scale = finite ? 0 : 0x7fc0;
    if (!finite)
        return n_clipped;
    const uint32_t bits = round_scale_up(fmaxf(most / 7.5f, -least / 8.5f));
    memcpy(&s, &bits, sizeof s);
    const bool capped = s > QR_INT4_SCALE_MAX;
    s = capped ? QR_INT4_SCALE_MAX : s;
    if (s < 0x1p-100f)
        return 0;
    const float inverse = 1 / s;
    memset(codes, 0, QR_INT4_GROUP / 2);
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const float code = rintf(x[i] * inverse);
        n_clipped += capped && (x[i] > 7.5f * s || x[i] < -8.5f * s);
        codes[i % 16] |= (uint8_t)((int)(fminf(fmaxf(code, -8), 7) + 8) << (i / 16 * 4));
    }
    memcpy(scale, (const uint8_t *)&s + 2, sizeof *scale);
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
        const uint32_t wide = (uint32_t)bits << 16;
        float scale;
        memcpy(&scale, &wide, sizeof scale);
        const int code = src[g * 16 + i % 16] >> (i % QR_INT4_GROUP / 16 * 4) & 15;
        dst[i] = (float)(code - 8) * scale;
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
