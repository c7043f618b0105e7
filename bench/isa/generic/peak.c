/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak rates of portable C with the baseline instruction set. */
#include "isa/peak.h"
#include <math.h>
#include <stdint.h>

/* Every level rounds a multiply-add once (docs/numerics.md), so the unit is fmaf(), even where
 * it is a library call. */
static void f32(size_t n)
{
    float acc[8] = { 0 };
    float a = 0.5f, b = 0.25f;
    __asm__ volatile("" : "+m"(a), "+m"(b));
    for (size_t i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            acc[j] = fmaf(a, b, acc[j]);
    __asm__ volatile("" ::"m"(acc));
}

static void int8(size_t n)
{
    int32_t acc[8] = { 0 };
    int8_t a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };
    for (size_t i = 0; i < n; i++) {
        __asm__ volatile("" : "+m"(a), "+m"(b));
        for (int j = 0; j < 8; j++)
            acc[j] += a[j] * b[j];
    }
    __asm__ volatile("" ::"m"(acc));
}

static void read_all(const void *p, size_t bytes)
{
    const uint64_t *q = p;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *q; i += 8)
        sum |= q[i] | q[i + 1] | q[i + 2] | q[i + 3] | q[i + 4] | q[i + 5] | q[i + 6] | q[i + 7];
    __asm__ volatile("" ::"r"(sum));
}

const struct bench_peak bench_peak_generic = { .level = "generic",
                                               .f32 = { "fmaf()", 16, f32 },
                                               .bf16 = { "fmaf()", 16, f32 },
                                               .int8 = { "C int8 products", 16, int8 },
                                               .read = read_all };
