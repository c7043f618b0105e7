/* SPDX-License-Identifier: Apache-2.0 */
/* exp64.h - exp(x) of doubles x <= 0 by additions and multiplications alone: the same bits at every
 * level, within 4 units in the last place; below EXP64_LEAST zero.
 *
 * x = k ln 2 + r with integer k and |r| <= ln 2 / 2: 2^k times the Taylor series of e^r, whose
 * remainder is less than 2^-52. The products k * EXP64_LN2_HIGH are exact. */
#ifndef QR_SIMD_EXP64_H
#define QR_SIMD_EXP64_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXP64_LEAST    -700.0
#define EXP64_LOG2E    0x1.71547652b82fep0
#define EXP64_LN2_HIGH 0x1.62e42fefa38p-1   /* 42 bits */
#define EXP64_LN2_LOW  0x1.ef35793c7673p-45 /* ln 2 - EXP64_LN2_HIGH */
#define EXP64_MAGIC    0x1.8p52             /* plus |y| < 2^51: its last bits are round(y) */
/* 1 / n! for n = 13 .. 0 */
#define EXP64_TERMS                                                                                \
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,   \
        1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0
enum { EXP64_N_TERMS = 14, EXP64_LANES = 16 };

static inline double exp64(double x)
{
    static const double terms[EXP64_N_TERMS] = { EXP64_TERMS };
    const double t = x * EXP64_LOG2E + EXP64_MAGIC, k = t - EXP64_MAGIC;
    const double r = x - k * EXP64_LN2_HIGH - k * EXP64_LN2_LOW;
    double y = terms[0], scale;
    uint64_t bits;
    if (!(x >= EXP64_LEAST))
        return 0;
    for (int i = 1; i < EXP64_N_TERMS; i++)
        y = y * r + terms[i];
    memcpy(&bits, &t, sizeof bits);
    bits = (bits << 52) + 0x3ff0000000000000u;
    memcpy(&scale, &bits, sizeof scale);
    return y * scale;
}

/* Adds exp((x - max) / temperature) of the last elements, less than EXP64_LANES, to their lanes,
 * and all lanes by a tree. */
static inline double exp64_finish(double lanes[EXP64_LANES], const float *x, size_t n, double max,
                                  double temperature)
{
    for (size_t i = 0; i < n; i++)
        lanes[i] += exp64((x[i] - max) / temperature);
    for (size_t half = EXP64_LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

#endif
