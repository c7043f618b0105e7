/* SPDX-License-Identifier: Apache-2.0 */
/* sum_tables_vbmi.h - products of 32 activations and weights of one bit by table lookup, AVX-512
 * with VBMI and VNNI.
 *
 * A weight is -1 or 1. The four bits of four weights select one of the 16 sums of four activations.
 * VPERMB looks up in 64 bytes: bits 4 and 5 of an index are the place of a byte in its row of 32
 * bits, so a table holds the sums of four times four activations, and VPDPBUSD adds the four sums
 * of a row. A sum is 8 * high + low, in two tables of bytes.
 *
 * Tables of a block: high and low parts for the low nibbles of all bytes, then for the high ones.
 * Bit s of byte c of a row belongs to activation 4s + c (kernels_linear.h). */
#ifndef QR_SIMD_SUM_TABLES_H
#define QR_SIMD_SUM_TABLES_H
#define SUM_TABLES 1
#include "simd/vec_avx512.h"

enum {
    SUM_TABLES_BYTES = 4 * 64, /* per block of 32 activations */
    SUM_TABLES_SHIFT = 3,      /* of the high part: two of them add up to -128 .. 126 */
};

/* Computes the tables of 32 activations. */
static inline void sum_tables_fill(uint8_t *tables, const int8_t *q)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi8(1),
                  low = _mm512_set1_epi16((1 << SUM_TABLES_SHIFT) - 1),
                  /* lane c takes the activations of byte c */
        first =
            _mm512_add_epi8(_mm512_set1_epi16(0x0400),
                            _mm512_shuffle_epi8(_mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0), zero)),
                  last = _mm512_add_epi8(first, _mm512_set1_epi8(8));
    for (int half = 0; half < 2; half++, tables += SUM_TABLES_BYTES / 2) {
        const __m512i x = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(q + 16 * half)));
        const __m512i a = _mm512_shuffle_epi8(x, first), b = _mm512_shuffle_epi8(x, last);
        /* entries 0 to 7 and 8 to 15 of each lane; the masks say where a bit is 0 */
        const __m512i pair = _mm512_maddubs_epi16(
                          one, _mm512_mask_sub_epi8(a, 0x1b1b1b1b1b1b1b1b, zero, a)),
                      c = _mm512_mask_sub_epi8(b, 0xaaffaaffaaffaaff, zero, b),
                      d = _mm512_mask_sub_epi8(b, 0x0055005500550055, zero, b),
                      low8 = _mm512_add_epi16(pair, _mm512_maddubs_epi16(one, c)),
                      high8 = _mm512_add_epi16(pair, _mm512_maddubs_epi16(one, d));
        _mm512_store_si512(tables, _mm512_packs_epi16(_mm512_srai_epi16(low8, SUM_TABLES_SHIFT),
                                                      _mm512_srai_epi16(high8, SUM_TABLES_SHIFT)));
        _mm512_store_si512(tables + 64, _mm512_packs_epi16(_mm512_and_si512(low8, low),
                                                           _mm512_and_si512(high8, low)));
    }
}

/* Products of 32 activations and the block of a panel whose codes are at w. Exact. */
static inline __attribute__((always_inline)) vf32 sum_tables_panel(const uint8_t *w,
                                                                   const uint8_t *tables)
{
    enum { AND_OR = 0xea }; /* a & b | c */
    const __m512i nibble = _mm512_set1_epi8(15), place = _mm512_set1_epi32(0x30201000),
                  x = _mm512_loadu_si512(w),
                  i = _mm512_ternarylogic_epi32(x, nibble, place, AND_OR),
                  j = _mm512_ternarylogic_epi32(_mm512_srli_epi16(x, 4), nibble, place, AND_OR);
    const __m512i high =
                      _mm512_add_epi8(_mm512_permutexvar_epi8(i, _mm512_load_si512(tables)),
                                      _mm512_permutexvar_epi8(j, _mm512_load_si512(tables + 128))),
                  low =
                      _mm512_add_epi8(_mm512_permutexvar_epi8(i, _mm512_load_si512(tables + 64)),
                                      _mm512_permutexvar_epi8(j, _mm512_load_si512(tables + 192)));
    const __m512i highs =
        _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1 << SUM_TABLES_SHIFT), high);
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(highs, _mm512_set1_epi8(1), low));
}

/* sum[0 .. 1]: products of the 32 activations and a block of two panels, whose codes are at a and
 * b. Exact. */
static inline __attribute__((always_inline)) void sum_tables_multiply(vf32 *sum, const uint8_t *a,
                                                                      const uint8_t *b,
                                                                      const uint8_t *tables)
{
    sum[0] = sum_tables_panel(a, tables);
    sum[1] = sum_tables_panel(b, tables);
}

#endif
