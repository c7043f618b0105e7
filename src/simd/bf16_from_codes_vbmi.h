/* SPDX-License-Identifier: Apache-2.0 */
/* bf16_from_codes_vbmi.h - 64 fp8 or int8 codes to bf16, exactly, by byte tables (AVX512-VBMI).
 *
 * The functions of bf16_from_codes.h under the same names. vec_avx512.h must be included first. */
#ifndef QR_SIMD_BF16_FROM_CODES_VBMI_H
#define QR_SIMD_BF16_FROM_CODES_VBMI_H
#include "simd/bf16_pairs.h"

/* bf16 of the 128 magnitudes of an fp8 format or of int8, as low and high bytes. TOP, TOP7: index
 * of the highest set bit of a denormal mantissa, or of an integer. */
struct byte_table {
    _Alignas(64) uint8_t low[128], high[128];
};
#define TOP(c)     ((c) >= 4 ? 2 : (c) >= 2 ? 1 : 0)
#define TOP7(c)    ((c) >= 64 ? 6 : (c) >= 32 ? 5 : (c) >= 16 ? 4 : (c) >= 8 ? 3 : TOP(c))
#define TINY(c, e) ((c) ? (((e) + TOP(c)) << 7 | ((c) << (7 - TOP(c)) & 0x7f)) : 0)
#define INT8(c)    ((c) ? ((127 + TOP7(c)) << 7 | ((c) << (7 - TOP7(c)) & 0x7f)) : 0)
#define E4M3(c)    ((c) == 0x7f ? 0x7fc0 : (c) >= 8 ? ((c) << 4) + (120 << 7) : TINY(c, 118))
#define E5M2(c)                                                                                    \
    ((c) >= 0x7c ? ((c) << 5) + (224 << 7) : (c) >= 4 ? ((c) << 5) + (112 << 7) : TINY(c, 111))
#define LOW(f, c)        (f(c) & 0xff)
#define HIGH(f, c)       (f(c) >> 8)
#define FOUR(byte, f, c) byte(f, c), byte(f, (c) + 1), byte(f, (c) + 2), byte(f, (c) + 3)
#define ROW(byte, f, c)                                                                            \
    FOUR(byte, f, c), FOUR(byte, f, (c) + 4), FOUR(byte, f, (c) + 8), FOUR(byte, f, (c) + 12)
#define ALL(byte, f)                                                                               \
    ROW(byte, f, 0), ROW(byte, f, 16), ROW(byte, f, 32), ROW(byte, f, 48), ROW(byte, f, 64),       \
        ROW(byte, f, 80), ROW(byte, f, 96), ROW(byte, f, 112)
static const struct byte_table e4m3 = { { ALL(LOW, E4M3) }, { ALL(HIGH, E4M3) } };
static const struct byte_table e5m2 = { { ALL(LOW, E5M2) }, { ALL(HIGH, E5M2) } };
static const struct byte_table int8 = { { ALL(LOW, INT8) }, { ALL(HIGH, INT8) } };

/* Low and high bytes of the magnitudes, looked up by the low 7 bits of each byte. */
BF16_INLINE __m512i low_bytes(const struct byte_table *t, __m512i magnitude)
{
    return _mm512_permutex2var_epi8(_mm512_load_si512(t->low), magnitude,
                                    _mm512_load_si512(t->low + 64));
}
BF16_INLINE __m512i high_bytes(const struct byte_table *t, __m512i magnitude)
{
    return _mm512_permutex2var_epi8(_mm512_load_si512(t->high), magnitude,
                                    _mm512_load_si512(t->high + 64));
}

BF16_INLINE struct bf16_pairs with_signs(__m512i low, __m512i high, __m512i codes)
{
    /* high | (codes & sign) */
    high = _mm512_ternarylogic_epi32(high, codes, _mm512_set1_epi8((char)0x80), 0xf8);
    return (struct bf16_pairs){ _mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high) };
}

BF16_INLINE struct bf16_pairs bf16_from_fp8_e4m3(const uint8_t *p)
{
    const __m512i codes = _mm512_loadu_si512(p);
    return with_signs(low_bytes(&e4m3, codes), high_bytes(&e4m3, codes), codes);
}

BF16_INLINE struct bf16_pairs bf16_from_fp8_e5m2(const uint8_t *p)
{
    const __m512i codes = _mm512_loadu_si512(p);
    return with_signs(low_bytes(&e5m2, codes), high_bytes(&e5m2, codes), codes);
}

/* Shuffles the pairs of each lane to their places in fp8 cells first. */
BF16_INLINE struct bf16_pairs bf16_from_int8(const uint8_t *p)
{
    const __m512i order = _mm512_set4_epi32(0x0f0e0b0a, 0x07060302, 0x0d0c0908, 0x05040100);
    const __m512i codes = _mm512_shuffle_epi8(_mm512_loadu_si512(p), order);
    const __m512i magnitude = _mm512_abs_epi8(codes);
    /* 128, which quantize_int8 never writes, is outside the table. Its high byte is 0x43; for
     * smaller magnitudes, the saturated difference never exceeds the high byte. */
    const __m512i of128 = _mm512_subs_epu8(magnitude, _mm512_set1_epi8(0x80 - 0x43));
    const __m512i high = _mm512_max_epu8(high_bytes(&int8, magnitude), of128);
    return with_signs(low_bytes(&int8, magnitude), high, codes);
}

#endif
