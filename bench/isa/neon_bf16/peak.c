/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - what the bf16 extension adds: two bf16 products per lane in one instruction. */
#include "isa/peak.h"
#include <arm_neon.h>

#define DOT(j)     __asm__ volatile("bfdot %0.4s, %1.8h, %2.8h" : "+w"(acc##j) : "w"(a), "w"(b));
#define DECLARE(j) float32x4_t acc##j = vdupq_n_f32(0);
static void bf16(size_t n)
{
    uint16x8_t a = vdupq_n_u16(0), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

const struct bench_peak bench_peak_neon_bf16 = { .level = "neon_bf16",
                                                 .bf16 = { "bfdot 4s", 24 * 16, bf16 } };
