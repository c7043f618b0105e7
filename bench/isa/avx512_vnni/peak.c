/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak int8 rate of AVX512-VNNI: four products per 32-bit lane and instruction. */
#include "isa/peak.h"
#include <immintrin.h>

#define DOT(j)     __asm__ volatile("vpdpbusd %1, %2, %0" : "+v"(acc##j) : "v"(a), "v"(b));
#define DECLARE(j) __m512i acc##j = _mm512_setzero_si512();
static void int8(size_t n)
{
    __m512i a = _mm512_setzero_si512(), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

const struct bench_peak bench_peak_avx512_vnni = { .level = "avx512_vnni",
                                                   .int8 = { "vpdpbusd zmm", 24 * 128, int8 } };
