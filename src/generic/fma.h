/* SPDX-License-Identifier: Apache-2.0 */
/* fma.h - fused multiply-add in plain C for machines that have no instruction for it. */
#ifndef QUIRE_GENERIC_FMA_H
#define QUIRE_GENERIC_FMA_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* a * b + c rounded once, like fmaf. Without the instruction libm's fmaf is a call of a hundred cycles; this is a
 * dozen operations that vectorise: the product is exact in double, the sum is rounded to odd there (sticky last
 * bit), and then the rounding to float sees everything it must see. */
static inline float qr_fmaf(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return fmaf(a, b, c);
#else
    const double p = (double)a * (double)b, s = p + (double)c;
    const double bb = s - p, lost = (p - (s - bb)) + ((double)c - bb); /* exact error of the sum */
    uint64_t u;
    double odd;
    memcpy(&u, &s, sizeof u);
    if ((lost < 0 || lost > 0) && (u & 1) == 0) /* false for NaN */
        u += (lost > 0) == (s > 0) ? 1 : (uint64_t)-1;
    memcpy(&odd, &u, sizeof odd);
    return (float)odd;
#endif
}

#endif
