/* SPDX-License-Identifier: Apache-2.0 */
/* sum_tables_avx2.h - products of 32 activations and weights of one bit by table lookup, AVX2.
 *
 * A weight is -1 or 1. The four bits of four weights select one of the 16 sums of four activations,
 * so VPSHUFB and an addition take the place of four products per byte. A sum of four int8 values is
 * below 512: the tables hold sum + 512 as 32 * high + low, and both parts of the eight lookups of a
 * block add up to 248 at most, in bytes.
 *
 * Tables of a block: for byte c of the four in which a panel holds a row's 32 bits, and for its low
 * and its high nibble, 16 low and 16 high parts. Bit s of byte c belongs to activation 4s + c
 * (kernels_linear.h). */
#ifndef QR_SIMD_SUM_TABLES_H
#define QR_SIMD_SUM_TABLES_H
#define SUM_TABLES 1
#include "simd/vec_avx2.h"

enum {
    SUM_TABLES_BYTES = 256,         /* per block of 32 activations */
    SUM_TABLES_BIAS = 8 * 512,      /* of the sum of a block's lookups */
    SUM_TABLES_SHIFT = 5,           /* of the high part */
    SUM_TABLES_FLOAT_HIGH = 0x4b40, /* high half of the bits of 1.5 * 2^23 */
};

/* Computes the tables of 32 activations. */
static inline void sum_tables_fill(uint8_t *tables, const int8_t *q)
{
    /* the signs of the first and of the last two activations, for each of 16 entries */
    const __m256i first = _mm256_set1_epi64x(0x010101ffff01ffff),
                  last = _mm256_setr_epi64x(-1, (long long)0xff01ff01ff01ff01, 0x01ff01ff01ff01ff,
                                            0x0101010101010101),
                  flip = _mm256_set1_epi8(-128);
    /* VPMADDUBSW takes unsigned activations, q + 128 */
    const __m256i excess = _mm256_add_epi16(_mm256_maddubs_epi16(flip, first),
                                            _mm256_maddubs_epi16(flip, last)),
                  bias = _mm256_sub_epi16(_mm256_set1_epi16(512), excess);
    for (int half = 0; half < 2; half++) {
        const __m128i q16 = _mm_loadu_si128((const __m128i *)(q + 16 * half));
        const __m256i x = _mm256_xor_si256(_mm256_broadcastsi128_si256(q16), flip);
        for (int c = 0; c < 4; c++) {
            const __m256i pair = _mm256_set1_epi16((short)(0x0400 + 0x0101 * c)),
                          a = _mm256_shuffle_epi8(x, pair),
                          b = _mm256_shuffle_epi8(x, _mm256_add_epi8(pair, _mm256_set1_epi8(8)));
            const __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(a, first),
                                                 _mm256_maddubs_epi16(b, last)),
                          v = _mm256_add_epi16(sum, bias),
                          low = _mm256_and_si256(v, _mm256_set1_epi16(31)),
                          high = _mm256_srli_epi16(v, SUM_TABLES_SHIFT),
                          parts = _mm256_packus_epi16(low, high);
            _mm256_store_si256((__m256i *)(void *)(tables + 32 * (2 * c + half)),
                               _mm256_permute4x64_epi64(parts, 0xd8));
        }
    }
}

/* Transposes 4 bytes of 32 rows: c[i] holds byte i of all, eight rows of four vectors in turns. */
static inline __attribute__((always_inline)) void sum_tables_bytes(__m256i c[4], const uint8_t *a,
                                                                   const uint8_t *b)
{
    const __m256i by_byte = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i w0 = _mm256_shuffle_epi8(vi32_load(a), by_byte),
                  w1 = _mm256_shuffle_epi8(vi32_load(a + 32), by_byte),
                  w2 = _mm256_shuffle_epi8(vi32_load(b), by_byte),
                  w3 = _mm256_shuffle_epi8(vi32_load(b + 32), by_byte);
    const __m256i lo01 = _mm256_unpacklo_epi32(w0, w1), hi01 = _mm256_unpackhi_epi32(w0, w1),
                  lo23 = _mm256_unpacklo_epi32(w2, w3), hi23 = _mm256_unpackhi_epi32(w2, w3);
    c[0] = _mm256_unpacklo_epi64(lo01, lo23);
    c[1] = _mm256_unpackhi_epi64(lo01, lo23);
    c[2] = _mm256_unpacklo_epi64(hi01, hi23);
    c[3] = _mm256_unpackhi_epi64(hi01, hi23);
}

/* Adds the sums that the low nibbles of idx select in a table to both parts. */
static inline __attribute__((always_inline)) void sum_tables_add(const uint8_t *table, __m256i idx,
                                                                 __m256i *low, __m256i *high)
{
    const __m256i nibbles = _mm256_and_si256(idx, _mm256_set1_epi8(15));
    *low = _mm256_add_epi8(*low, vi32_lut16(table, nibbles));
    *high = _mm256_add_epi8(*high, vi32_lut16(table + 16, nibbles));
    /* else the compiler adds in a tree, for which there are too few registers */
    __asm__("" : "+x"(*low), "+x"(*high));
}

/* The same for both nibbles of a byte of the rows, which have a table each. */
static inline __attribute__((always_inline)) void sum_tables_add_byte(const uint8_t *tables,
                                                                      __m256i byte, __m256i *low,
                                                                      __m256i *high)
{
    sum_tables_add(tables, byte, low, high);
    sum_tables_add(tables + 32, _mm256_srli_epi16(byte, 4), low, high);
}

/* sum[0 .. 3]: products of the 32 activations and a block of two panels, whose codes are at a and
 * b. Exact. */
static inline __attribute__((always_inline)) void sum_tables_multiply(vf32 *sum, const uint8_t *a,
                                                                      const uint8_t *b,
                                                                      const uint8_t *tables)
{
    __m256i c[4], low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    sum_tables_bytes(c, a, b);
    sum_tables_add_byte(tables, c[0], &low, &high);
    sum_tables_add_byte(tables + 64, c[1], &low, &high);
    sum_tables_add_byte(tables + 128, c[2], &low, &high);
    sum_tables_add_byte(tables + 192, c[3], &low, &high);
    /* words of 32 * high + low, then floats 1.5 * 2^23 + word */
    const __m256i factors = _mm256_set1_epi16(1 << SUM_TABLES_SHIFT << 8 | 1),
                  top = _mm256_set1_epi16(SUM_TABLES_FLOAT_HIGH),
                  panel_a = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(low, high), factors),
                  panel_b = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(low, high), factors);
    const vf32 base = vf32_set1(0x1.8p23f + SUM_TABLES_BIAS);
    sum[0] = vf32_sub(vf32_bits(_mm256_unpacklo_epi16(panel_a, top)), base);
    sum[1] = vf32_sub(vf32_bits(_mm256_unpackhi_epi16(panel_a, top)), base);
    sum[2] = vf32_sub(vf32_bits(_mm256_unpacklo_epi16(panel_b, top)), base);
    sum[3] = vf32_sub(vf32_bits(_mm256_unpackhi_epi16(panel_b, top)), base);
}

#endif
