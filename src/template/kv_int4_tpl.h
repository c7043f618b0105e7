/* SPDX-License-Identifier: Apache-2.0 */
/* kv_int4_tpl.h - quantization and dequantization of int4 rows, and the Walsh-Hadamard transform.
 *
 * Included by kv_convert_tpl.h. The compiler vectorizes the loops over a group. The bits are those
 * of generic/kv_int4.c. */

QR_INLINE size_t int4_quantize_group(uint8_t *restrict codes, uint16_t *restrict scale,
                                     const float *restrict x)
{
    /* added to a number below 2^22 it rounds that to nearest even, into the low bits of the sum */
    const float round = 0x1.8p23f;
    int32_t most = 0, least = 0; /* as bits: positive floats are ordered like integers */
    uint32_t max = 0;
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const uint32_t bits = float_bits(x[i]), magnitude = bits & 0x7fffffff;
        const int32_t positive = (int32_t)bits, negative = (int32_t)(bits ^ 0x80000000);
        max = magnitude > max ? magnitude : max;
        most = positive > most ? positive : most;
        least = negative > least ? negative : least;
    }
    if (max >= 0x7f800000) {
        memset(codes, 0x88, QR_INT4_GROUP / 2);
        *scale = 0x7fc0;
        return count_infinite(x, QR_INT4_GROUP);
    }
    const float p = bits_float((uint32_t)most) / 7.5f, m = bits_float((uint32_t)least) / 8.5f;
    const float up = bits_float((float_bits(p > m ? p : m) + 0x7ffff) & ~0x7ffffu);
    const float s = up < QR_INT4_SCALE_MAX ? up : QR_INT4_SCALE_MAX;
    if (s < 0x1p-100f) {
        memset(codes, 0x88, QR_INT4_GROUP / 2);
        *scale = 0;
        return 0;
    }
    const float inverse = 1 / s;
    int32_t code[QR_INT4_GROUP];
    uint32_t n_clipped = 0;
    for (int i = 0; i < QR_INT4_GROUP; i++) {
        const float y = x[i] * inverse, above = y > 8 ? 8 : y, in = above < -9 ? -9 : above;
        const int32_t c = (int32_t)float_bits(in + round) - (int32_t)float_bits(round) + 8;
        const int32_t low = c < 0 ? 0 : c;
        code[i] = low > 15 ? 15 : low;
        n_clipped += (x[i] > 7.5f * s) | (x[i] < -8.5f * s);
    }
    for (int i = 0; i < 16; i++)
        codes[i] = (uint8_t)(code[i] | code[i + 16] << 4);
    *scale = (uint16_t)(float_bits(s) >> 16);
    return up > QR_INT4_SCALE_MAX ? n_clipped : 0;
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
            dst[i] = (float)((codes[i] & 15) - 8) * scale;
            dst[i + 16] = (float)((codes[i] >> 4) - 8) * scale;
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
