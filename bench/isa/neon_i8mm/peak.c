/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak int8 rate of FEAT_I8MM: a 2x8 by 8x2 product per instruction. */
#include "isa/peak.h"
#include <arm_neon.h>

#define DOT(j)     __asm__ volatile("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc##j) : "w"(a), "w"(b));
#define DECLARE(j) int32x4_t acc##j = vdupq_n_s32(0);
static void int8(size_t n)
{
    int8x16_t a = vdupq_n_s8(0), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

const struct bench_peak bench_peak_neon_i8mm = { .level = "neon_i8mm",
                                                 .int8 = { "smmla 4s", 24 * 64, int8 } };
