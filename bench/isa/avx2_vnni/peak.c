/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak int8 rate of AVX-VNNI: four products per 32-bit lane and instruction. */
#include "isa/peak.h"
#include <immintrin.h>

#define DOT(j)     __asm__ volatile("%{vex%} vpdpbusd %1, %2, %0" : "+x"(acc##j) : "x"(a), "x"(b));
#define DECLARE(j) __m256i acc##j = _mm256_setzero_si256();
static void int8(size_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a;
    PEAK_12(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_12(DOT)
    }
}

const struct bench_peak bench_peak_avx2_vnni = { .level = "avx2_vnni",
                                                 .int8 = { "vpdpbusd ymm", 12 * 64, int8 } };
