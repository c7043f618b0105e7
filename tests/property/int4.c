/* SPDX-License-Identifier: Apache-2.0 */
/* int4.c - expected values of int4 rows: docs/numerics.md, "int4 cache", in the arithmetic that it
 * specifies, because a scale that is chosen differently changes all values of its group. */
#include "problem.h"
#include <math.h>
#include <string.h>

enum { GROUP = 32 };

static float to_bits_down(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u &= 0xfff80000;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The adjacent number of five significant bits, above (step 1) or below (step -1). */
static float next_scale(float x, int step)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u += (uint32_t)(step * 0x80000);
    memcpy(&x, &u, sizeof x);
    return x;
}

static float nearest_level(float x)
{
    static const float levels[] = { 1, 3, 5, 7, 10, 12, 16, 20 };
    float best = 1;
    for (int i = 1; i < 8; i++)
        if (fabsf(fabsf(x) - levels[i]) < fabsf(fabsf(x) - best))
            best = levels[i];
    return copysignf(best, x < 0 ? -1.0f : 1.0f);
}

static float squared_error(const float *x, float scale)
{
    const float inverse = 1 / scale;
    float sum[GROUP];
    for (int i = 0; i < GROUP; i++) {
        const float product = scale * nearest_level(x[i] * inverse), e = x[i] - product;
        sum[i] = e * e;
    }
    for (int n = GROUP / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

static void round_group(float *x)
{
    float amax = 0, best = 0, least = INFINITY;
    for (int i = 0; i < GROUP; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    float scale = to_bits_down(amax / 20);
    if (scale < 0x1p-100f) {
        memset(x, 0, GROUP * sizeof *x);
        return;
    }
    for (int i = 0; i < 4; i++)
        scale = next_scale(scale, -1);
    for (int i = 0; i < 8; i++, scale = next_scale(scale, 1)) {
        const float error = squared_error(x, scale);
        best = error < least ? scale : best;
        least = error < least ? error : least;
    }
    const float inverse = 1 / best;
    for (int i = 0; i < GROUP; i++)
        x[i] = best * nearest_level(x[i] * inverse);
}

/* Walsh-Hadamard transform of n values in f32, in blocks of the largest power of two in n. */
static void transform(float *x, uint32_t n)
{
    const uint32_t block = n & (~n + 1);
    for (uint32_t h = 1; h < block; h *= 2)
        for (uint32_t i = 0; i < n; i++)
            if (!(i & h)) {
                const float sum = x[i] + x[i + h];
                x[i + h] = x[i] - x[i + h];
                x[i] = sum;
            }
    for (uint32_t i = 0; i < n; i++)
        x[i] *= (float)(1 / sqrt((double)block));
}

void int4_round(double *cached, const float *row, uint32_t n, bool rotated)
{
    float x[1024];
    memcpy(x, row, n * sizeof *x);
    if (rotated)
        transform(x, n);
    for (uint32_t g = 0; g < n; g += GROUP)
        round_group(x + g);
    if (rotated)
        transform(x, n);
    for (uint32_t i = 0; i < n; i++)
        cached[i] = (double)x[i];
}
