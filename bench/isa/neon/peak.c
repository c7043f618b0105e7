/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak rates of Advanced SIMD: 128-bit FMA, widening int8 products, loads. */
#include "isa/peak.h"
#include <arm_neon.h>

#define FMA(j)     __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc##j) : "w"(a), "w"(b));
#define DECLARE(j) float32x4_t acc##j = vdupq_n_f32(0);
static void f32(size_t n)
{
    float32x4_t a = vdupq_n_f32(0), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(FMA)
    }
}

/* Emulated bf16: one conversion of pairs to even and odd f32 values serves the six rows of a
 * register tile. */
#define ODD(j)  __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc##j) : "w"(odd), "w"(b));
#define EVEN(j) __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc##j) : "w"(even), "w"(b));
#define COLUMN(...)                                                                                \
    __asm__ volatile("and %0.16b, %1.16b, %2.16b" : "=w"(odd) : "w"(pair), "w"(mask));             \
    __asm__ volatile("shl %0.4s, %1.4s, #16" : "=w"(even) : "w"(pair));                            \
    PEAK_6(ODD, __VA_ARGS__) PEAK_6(EVEN, __VA_ARGS__)
static void bf16(size_t n)
{
    uint32x4_t pair = vdupq_n_u32(0), mask = vdupq_n_u32(0xffff0000u);
    float32x4_t odd, even, b = vdupq_n_f32(0);
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        COLUMN(0, 1, 2, 3, 4, 5)
        COLUMN(6, 7, 8, 9, 10, 11)
        COLUMN(12, 13, 14, 15, 16, 17)
        COLUMN(18, 19, 20, 21, 22, 23)
    }
}

/* 8 products in int16, added in pairs to int32. */
#define DOT(j)                                                                                     \
    __asm__ volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(t) : "w"(a), "w"(b));                      \
    __asm__ volatile("sadalp %0.4s, %1.8h" : "+w"(acc##j) : "w"(t));
#define DECLARE_INT(j) int32x4_t acc##j = vdupq_n_s32(0);
static void int8(size_t n)
{
    int8x8_t a = vdup_n_s8(0), b = a;
    int16x8_t t;
    PEAK_24(DECLARE_INT)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

#define LOAD(j) __asm__ volatile("ldr %q0, %1" : "=w"(v) : "m"(q[j]));
static void read_all(const void *p, size_t bytes)
{
    const uint8x16_t *q = p, *end = q + bytes / sizeof *q;
    uint8x16_t v;
    for (; q < end; q += 16) {
        PEAK_12(LOAD) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
    }
}

const struct bench_peak bench_peak_neon = { .level = "neon",
                                            .f32 = { "fmla 4s", 24 * 8, f32 },
                                            .bf16 = { "shift, mask, 2 fmla 4s", 48 * 8, bf16 },
                                            .int8 = { "smull, sadalp", 24 * 16, int8 },
                                            .read = read_all };
