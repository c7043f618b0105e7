/* SPDX-License-Identifier: Apache-2.0 */
/* delta_sums_avx512.h - what products of codes lack for weights with a sign per eight (N16_DELTA),
 * AVX-512 with VNNI.
 *
 * Such a weight is 8 (code - 1) + 1 or - 1. With the sums a and b of eight activations each, 16
 * weights times their activations are the products of 8 code and the activations, plus
 * -8 (a + b) +- a +- b: one of four values, which the two bits of a row select. */
#ifndef QR_SIMD_DELTA_SUMS_H
#define QR_SIMD_DELTA_SUMS_H
#define DELTA_SUMS 1
#include "kernels/kernels_linear.h"
#include <immintrin.h>

/* Computes the four values of both halves of each block: sums[n_blocks][2][4]. */
static inline void delta_sums_fill(int32_t *sums, const struct qr_q8_block *q, size_t n_blocks)
{
    enum { EACH_OTHER = 0xb1, HALVES = 0x4e, ODD = 0xaa }; /* of shuffles, and of a blend */
    const __m256i factors =
        _mm256_broadcastsi128_si256(_mm_setr_epi16(-7, -7, -9, -7, -7, -9, -9, -9));
    for (size_t b = 0; b < n_blocks; b++) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)q[b].q),
                      fours = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), x);
        /* a, a, b, b; the same as b, b, a, a in the high words; then words a, b */
        const __m256i eights = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, EACH_OTHER)),
                      other = _mm256_slli_epi32(_mm256_shuffle_epi32(eights, HALVES), 16),
                      pair = _mm256_shuffle_epi32(_mm256_blend_epi16(eights, other, ODD), 0);
        _mm256_storeu_si256((__m256i *)(void *)(sums + b * QR_DELTA_SUMS),
                            _mm256_madd_epi16(pair, factors));
    }
}

#endif
