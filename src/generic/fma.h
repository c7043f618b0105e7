/* SPDX-License-Identifier: Apache-2.0 */
/* fma.h - fused multiply-add in plain C, also for CPUs without the instruction. */
#ifndef QR_GENERIC_FMA_H
#define QR_GENERIC_FMA_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* a * b + c rounded once, like fmaf. Without the instruction, fmaf of libm is a call of some
 * hundred cycles; this is a dozen operations that vectorize: the product is exact in double, the
 * sum is rounded to odd there (sticky last bit), so rounding it to float rounds the exact sum. */
static inline float qr_fmaf(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return fmaf(a, b, c);
#else
    const double p = (double)a * (double)b, s = p + (double)c;
    const double bb = s - p, lost = (p - (s - bb)) + ((double)c - bb); /* exact error of the sum */
    uint64_t sum, error;
    double odd;
    memcpy(&sum, &s, sizeof sum);
    memcpy(&error, &lost, sizeof error);
    /* inexact and even: one step towards the error, which is away from zero if the signs agree */
    const uint64_t magnitude = error << 1, inexact = (magnitude | (0 - magnitude)) >> 63;
    const uint64_t finite = ((sum >> 52 & 0x7ff) - 0x7ff) >> 63;
    const uint64_t step = 1 - ((sum ^ error) >> 63) * 2;
    sum += step & (0 - (inexact & finite & ~sum & 1));
    memcpy(&odd, &sum, sizeof odd);
    return (float)odd;
#endif
}

#endif
