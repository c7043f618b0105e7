/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - scalar conversions between f32, bf16 and f16 in plain C. */
#ifndef QR_BASE_HALF_H
#define QR_BASE_HALF_H
#include <stdint.h>
#include <string.h>

static inline float qr_bits_to_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t qr_f32_to_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float qr_bf16_to_f32(uint16_t h) { return qr_bits_to_f32((uint32_t)h << 16); }

/* Exact; NaN stays NaN. */
static inline float qr_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31,
                   mantissa = h & 1023;
    if (exponent == 31)
        return qr_bits_to_f32(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0)
        return qr_bits_to_f32(sign | (exponent + 112) << 23 | mantissa << 13);
    return qr_bits_to_f32(sign | qr_f32_to_bits((float)mantissa * 0x1p-24f));
}

/* Rounds to nearest even; NaN becomes a quiet NaN. */
static inline uint16_t qr_f32_to_bf16(float f)
{
    const uint32_t bits = qr_f32_to_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounds to nearest even; NaN becomes a quiet NaN. */
static inline uint16_t qr_f32_to_f16(float f)
{
    const uint32_t bits = qr_f32_to_bits(f), sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) /* 65520, which is rounded to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) /* 2^-14: units of 2^-24, which the sum below rounds to */
        return (uint16_t)(sign | (qr_f32_to_bits(qr_bits_to_f32(magnitude) + 0.5f) - 0x3f000000));
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - (112u << 23)) >> 13);
}

/* Scale of an MXFP4 block: 2^(e - 128), half of the E8M0 value e. */
static inline float qr_e8m0_half_to_f32(uint8_t e)
{
    return qr_bits_to_f32(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

/* The finite number with E4M3 bits e (not 0x7f or 0xff, which are NaN). */
static inline float qr_e4m3_to_f32(uint8_t e)
{
    const uint32_t sign = (uint32_t)(e & 128) << 24, magnitude = (uint32_t)(e & 127) << 20;
    return qr_bits_to_f32(sign | magnitude) * 0x1p120f; /* exponent bias 127 - 7 */
}

/* Scale of 16 NVFP4 values: half of the unsigned E4M3 value of e (0 .. 127, no NaN). */
static inline float qr_e4m3_half_to_f32(uint8_t e)
{
    return qr_bits_to_f32((uint32_t)e << 20) * 0x1p119f; /* exponent bias 127 - 7, halved */
}

#endif
