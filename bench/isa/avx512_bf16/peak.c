/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak bf16 rate of AVX512-BF16: two products per 32-bit lane and instruction. */
#include "isa/peak.h"
#include <immintrin.h>

#define DOT(j)     __asm__ volatile("vdpbf16ps %1, %2, %0" : "+v"(acc##j) : "v"(a), "v"(b));
#define DECLARE(j) __m512 acc##j = _mm512_setzero_ps();
static void bf16(size_t n)
{
    __m512 a = _mm512_setzero_ps(), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

const struct bench_peak bench_peak_avx512_bf16 = { .level = "avx512_bf16",
                                                   .bf16 = { "vdpbf16ps zmm", 24 * 64, bf16 } };
