/* SPDX-License-Identifier: Apache-2.0 */
/* sum_tables_avx512.h - products of 32 activations and weights of one bit by table lookup, AVX-512.
 *
 * A weight is -1 or 1. The five bits of five weights select one of the 32 sums of five activations,
 * so VPERMW, which reads the low five bits of a word, and an addition take the place of five
 * products. The 32 bits of a row are two words: three lookups for bits 0 to 14 of each, and one for
 * the two bits that are left.
 *
 * Tables of a block: seven of 32 int16 sums, those of the two words and the last, which also holds
 * the bias. Bit s of byte c of a row belongs to activation 4s + c (kernels_linear.h). */
#ifndef QR_SIMD_SUM_TABLES_H
#define QR_SIMD_SUM_TABLES_H
#define SUM_TABLES 1
#include "simd/vec_avx512.h"

enum {
    SUM_TABLES_BYTES = 7 * 64,      /* per block of 32 activations */
    SUM_TABLES_BIAS = 1 << 12,      /* sums of 32 int8 values are smaller */
    SUM_TABLES_FLOAT_HIGH = 0x4b40, /* high half of the bits of 1.5 * 2^23 */
};

/* The sums of activations at .. at + 4 of the 16 in each 128-bit lane of x, which are q + 128 as
 * VPMADDUBSW takes unsigned bytes. s: the signs of the first, middle and last of them in each of 32
 * entries; excess: what 128 instead of each activation would give. */
static inline __m512i sum_tables_five(__m512i x, int at, const __m512i s[3], __m512i excess)
{
    const __m512i pair = _mm512_set1_epi16((short)(0x0100 + 0x0101 * at)),
                  two = _mm512_set1_epi8(2), middle = _mm512_add_epi8(pair, two);
    const __m512i a = _mm512_maddubs_epi16(_mm512_shuffle_epi8(x, pair), s[0]),
                  b = _mm512_maddubs_epi16(_mm512_shuffle_epi8(x, middle), s[1]),
                  c = _mm512_maddubs_epi16(_mm512_shuffle_epi8(x, _mm512_add_epi8(middle, two)),
                                           s[2]);
    return _mm512_sub_epi16(_mm512_add_epi16(a, b), _mm512_sub_epi16(excess, c));
}

/* Computes the tables of 32 activations. */
static inline void sum_tables_fill(uint8_t *tables, const int8_t *q)
{
    const __m512i plus = _mm512_set1_epi8(1), minus = _mm512_set1_epi8(-1),
                  flip = _mm512_set1_epi8(-128);
    const __m512i s[3] = { _mm512_mask_blend_epi8(0xe4e4e4e4e4e4e4e4, minus, plus),
                           _mm512_mask_blend_epi8(0xffaa5500ffaa5500, minus, plus),
                           _mm512_mask_blend_epi16(0xffff0000, _mm512_set1_epi16(0xff),
                                                   _mm512_set1_epi16(1)) };
    const __m512i excess2 = _mm512_maddubs_epi16(flip, s[0]),
                  excess4 = _mm512_add_epi16(excess2, _mm512_maddubs_epi16(flip, s[1])),
                  excess5 = _mm512_add_epi16(excess4, _mm512_maddubs_epi16(flip, s[2]));
    /* in the order of the bits of a row: by 4s + c */
    const __m256i by_byte = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i halves = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)q), by_byte),
                  order = _mm256_permutevar8x32_epi32(halves,
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)),
                  biased = _mm256_xor_si256(order, _mm256_set1_epi8(-128));
    const __m512i lo = _mm512_broadcast_i32x4(_mm256_castsi256_si128(biased)),
                  hi = _mm512_broadcast_i32x4(_mm256_extracti128_si256(biased, 1));
    for (int t = 0; t < 3; t++) {
        _mm512_store_si512(tables + 64 * t, sum_tables_five(lo, 5 * t, s, excess5));
        _mm512_store_si512(tables + 64 * (t + 3), sum_tables_five(hi, 5 * t, s, excess5));
    }
    const __m512i last = _mm512_unpackhi_epi8(lo, hi), /* the last word: activations 15 and 31 */
        pair = _mm512_shuffle_epi8(last, _mm512_set1_epi16(0x0f0e)),
                  bias = _mm512_sub_epi16(_mm512_set1_epi16(SUM_TABLES_BIAS), excess2);
    _mm512_store_si512(tables + 384, _mm512_add_epi16(_mm512_maddubs_epi16(pair, s[0]), bias));
}

/* The int16 sums of 32 rows that the low five bits of each word of idx select. */
static inline __m512i sum_tables_lookup(const uint8_t *table, __m512i idx)
{
    return _mm512_permutexvar_epi16(idx, _mm512_load_si512(table));
}

/* sum[0 .. 1]: products of the 32 activations and a block of two panels, whose codes are at a and
 * b. Exact. */
static inline __attribute__((always_inline)) void sum_tables_multiply(vf32 *sum, const uint8_t *a,
                                                                      const uint8_t *b,
                                                                      const uint8_t *tables)
{
    const __mmask32 odd = 0xaaaaaaaa;
    const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
    /* even words: of panel a, odd words: of panel b */
    const __m512i lo = _mm512_mask_blend_epi16(odd, x, _mm512_slli_epi32(y, 16)),
                  hi = _mm512_mask_blend_epi16(odd, _mm512_srli_epi32(x, 16), y);
    enum { SELECT = 0xd8 }; /* c ? b : a */
    const __m512i rest = _mm512_ternarylogic_epi32(
        _mm512_srli_epi16(lo, 15), _mm512_srli_epi16(hi, 14), _mm512_set1_epi16(2), SELECT);
    const __m512i lows = _mm512_add_epi16(
                      sum_tables_lookup(tables, lo),
                      _mm512_add_epi16(sum_tables_lookup(tables + 64, _mm512_srli_epi16(lo, 5)),
                                       sum_tables_lookup(tables + 128, _mm512_srli_epi16(lo, 10)))),
                  highs = _mm512_add_epi16(
                      sum_tables_lookup(tables + 192, hi),
                      _mm512_add_epi16(sum_tables_lookup(tables + 256, _mm512_srli_epi16(hi, 5)),
                                       sum_tables_lookup(tables + 320, _mm512_srli_epi16(hi, 10)))),
                  words = _mm512_add_epi16(_mm512_add_epi16(lows, highs),
                                           sum_tables_lookup(tables + 384, rest));
    /* floats 1.5 * 2^23 + word */
    const __m512i even =
                      _mm512_mask_blend_epi16(odd, words, _mm512_set1_epi16(SUM_TABLES_FLOAT_HIGH)),
                  odds = _mm512_or_si512(_mm512_srli_epi32(words, 16),
                                         _mm512_set1_epi32(SUM_TABLES_FLOAT_HIGH << 16));
    const vf32 base = vf32_set1(0x1.8p23f + SUM_TABLES_BIAS);
    sum[0] = vf32_sub(vf32_bits(even), base);
    sum[1] = vf32_sub(vf32_bits(odds), base);
}

#endif
