/* SPDX-License-Identifier: Apache-2.0 */
/* encode_32.c - formats with blocks of 32 values: Q8_0, Q4_0, IQ4_NL, MXFP4. */
#include "encode_block.h"
#include "fit.h"
#include "iq4_table.h"
#include <math.h>
#include <string.h>

static void store_f16(uint8_t *out, float f)
{
    const uint16_t h = encode_f16(f);
    memcpy(out, &h, sizeof h);
}

void encode_q8_0(const float *x, const float *w, uint8_t *out)
{
    (void)w; /* a search gains nothing that can be measured at 8 bits */
    float largest = 0;
    for (int i = 0; i < BLOCK; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const float d = encode_round_f16(largest / 127), inverse = d > 0 ? 1 / d : 0;
    store_f16(out, d);
    for (int i = 0; i < BLOCK; i++) {
        out[2 + i] = (uint8_t)(int8_t)lrintf(fit_clamp(x[i] * inverse, -127, 127));
    }
}

/* Values 0 .. 15 are in the low halves of the bytes, 16 .. 31 in the high ones. */
static void encode_16(const struct grid *g, const float *x, float inverse, uint8_t *out)
{
    for (int i = 0; i < BLOCK / 2; i++) {
        uint8_t lo, hi;
        fit_nearest(g, x[i] * inverse, &lo);
        fit_nearest(g, x[i + BLOCK / 2] * inverse, &hi);
        out[i] = (uint8_t)(lo | hi << 4);
    }
}

static void encode_scaled(const struct grid *g, const float *x, const float *w, uint8_t *out)
{
    const float d = encode_round_f16(fit_scale(g, x, w, BLOCK));
    store_f16(out, d);
    encode_16(g, x, d != 0 ? 1 / d : 0, out + 2);
}

void encode_q4_0(const float *x, const float *w, uint8_t *out)
{
    encode_scaled(&(const struct grid){ -8, 7, NULL }, x, w, out);
}

void encode_iq4_nl(const float *x, const float *w, uint8_t *out)
{
    encode_scaled(&iq4_grid, x, w, out);
}

/* Twice the values of FP4 E2M1 (OCP Microscaling Formats, 1.0), without sign. */
static const int8_t fp4_twice[8] = { 0, 1, 2, 3, 4, 6, 8, 12 };

/* Nearest code of v, in units of the scale. */
static uint8_t fp4_code(float v)
{
    const float a = 2 * fabsf(v);
    uint8_t i = 0;
    while (i < 7 && 2 * a > (float)(fp4_twice[i] + fp4_twice[i + 1]))
        i++;
    return (uint8_t)(i | (signbit(v) && i ? 8 : 0));
}

static float fp4_error(const float *x, const float *w, int exponent)
{
    float sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        const uint8_t code = fp4_code(ldexpf(x[i], -exponent));
        const float value = ldexpf((float)fp4_twice[code & 7], exponent - 1),
                    d = fabsf(x[i]) - value;
        sum += w[i] * d * d;
    }
    return sum;
}

void encode_mxfp4(const float *x, const float *w, uint8_t *out)
{
    enum { BIAS = 127, MAX_EXPONENT = 127, FP4_EXPONENT = 2 };
    float largest = 0, best = INFINITY;
    int exponent = -BIAS;
    for (int i = 0; i < BLOCK; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const int around = largest > 0 ? ilogbf(largest) - FP4_EXPONENT : -BIAS;
    for (int e = around - 1; e <= around + 1; e++) {
        const int clamped = e < -BIAS ? -BIAS : e > MAX_EXPONENT ? MAX_EXPONENT : e;
        const float error = fp4_error(x, w, clamped);
        if (error < best) {
            best = error;
            exponent = clamped;
        }
    }
    out[0] = (uint8_t)(exponent + BIAS);
    for (int i = 0; i < BLOCK / 2; i++)
        out[1 + i] = (uint8_t)(fp4_code(ldexpf(x[i], -exponent)) |
                               fp4_code(ldexpf(x[i + BLOCK / 2], -exponent)) << 4);
}
