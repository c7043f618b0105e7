/* SPDX-License-Identifier: Apache-2.0 */
/* encode_scaled.c - Q6_K and IQ4_XS: super-blocks of 256 values without minimums. A value is
 * d * scale[b] * q, with signed integer scales of blocks of 16 or 32 values, and f16 d. */
#include "encode_block.h"
#include "fit.h"
#include "iq4_table.h"
#include <math.h>
#include <string.h>

enum { MAX_BLOCKS = 16, ROUNDS = 3 };

struct super_block {
    const struct grid *grid;
    int block, scale_lo, scale_hi; /* values per block; range of the scales */
    const float *x, *w;
    float d;
    int8_t scale[MAX_BLOCKS];
    uint8_t index[SUPER_BLOCK]; /* positions of the values in the grid */
};

static float value_of(const struct grid *g, uint8_t index)
{
    return (float)(g->table ? g->table[index] : g->lo + index);
}

static float assign(const struct super_block *s, int b, int scale, uint8_t *index)
{
    const float unit = s->d * (float)scale, inverse = unit != 0 ? 1 / unit : 0;
    float error = 0;
    for (int i = 0; i < s->block; i++) {
        const int at = b * s->block + i;
        const float q = (float)fit_nearest(s->grid, s->x[at] * inverse, &index[i]),
                    d = s->x[at] - unit * q;
        error += s->w[at] * d * d;
    }
    return error;
}

/* Rounds the scale of every block: the best of the nearest integer and its neighbors. Returns the
 * error. */
static float round_scales(struct super_block *s, const float *fits)
{
    float sum = 0;
    for (int b = 0; b < SUPER_BLOCK / s->block; b++) {
        const int middle = s->d != 0 ? (int)lrintf(fits[b] / s->d) : 0;
        float best = INFINITY;
        for (int i = middle - 1; i <= middle + 1; i++) {
            uint8_t index[BLOCK];
            const int scale = i < s->scale_lo ? s->scale_lo : i > s->scale_hi ? s->scale_hi : i;
            const float error = assign(s, b, scale, index);
            if (error < best) {
                best = error;
                s->scale[b] = (int8_t)scale;
                memcpy(s->index + b * s->block, index, (size_t)s->block);
            }
        }
        sum += best;
    }
    return sum;
}

/* The d that is best for the scales and codes of s. */
static float solve(const struct super_block *s)
{
    double xq = 0, qq = 0;
    for (int i = 0; i < SUPER_BLOCK; i++) {
        const double q = (double)s->scale[i / s->block] * value_of(s->grid, s->index[i]);
        xq += s->w[i] * q * s->x[i];
        qq += s->w[i] * q * q;
    }
    return qq > 0 ? (float)(xq / qq) : 0;
}

static void fit_super_block(struct super_block *s)
{
    float fits[MAX_BLOCKS], largest = 0;
    for (int b = 0; b < SUPER_BLOCK / s->block; b++) {
        fits[b] = fit_scale(s->grid, s->x + b * s->block, s->w + b * s->block, (size_t)s->block);
        if (fabsf(fits[b]) > fabsf(largest))
            largest = fits[b];
    }
    /* the end of the range with one more value goes to the largest scale */
    s->d = encode_round_f16(largest / (float)s->scale_lo);
    float error = round_scales(s, fits);
    for (int i = 0; i < ROUNDS; i++) {
        const struct super_block before = *s;
        s->d = encode_round_f16(solve(s));
        const float now = round_scales(s, fits);
        if (!(now < error)) {
            *s = before;
            break;
        }
        error = now;
    }
}

/* Halves of 128 values: 64 bytes with the low 4 bits, 32 bytes with the upper 2 bits. Byte l of the
 * upper bits has those of values l, l + 32, l + 64, l + 96. All halves' low bits come first. */
void encode_q6_k(const float *x, const float *w, uint8_t *out)
{
    enum { HALF = SUPER_BLOCK / 2, UPPER = SUPER_BLOCK / 2, SCALES = UPPER + SUPER_BLOCK / 4 };
    static const struct grid grid = { -32, 31, NULL };
    struct super_block s = {
        .grid = &grid, .block = 16, .scale_lo = -128, .scale_hi = 127, .x = x, .w = w
    };
    fit_super_block(&s);
    for (int h = 0; h < 2; h++) {
        const uint8_t *q = s.index + h * HALF;
        for (int l = 0; l < BLOCK; l++) {
            out[h * 64 + l] = (uint8_t)((q[l] & 15) | (q[l + 64] & 15) << 4);
            out[h * 64 + l + 32] = (uint8_t)((q[l + 32] & 15) | (q[l + 96] & 15) << 4);
            out[UPPER + h * 32 + l] = (uint8_t)(q[l] >> 4 | q[l + 32] >> 4 << 2 |
                                                q[l + 64] >> 4 << 4 | q[l + 96] >> 4 << 6);
        }
    }
    memcpy(out + SCALES, s.scale, MAX_BLOCKS);
    const uint16_t d = encode_f16(s.d);
    memcpy(out + SCALES + MAX_BLOCKS, &d, 2);
}

/* f16 d; the upper 2 bits of the 8 scales, which have 32 added, in 2 bytes; their low 4 bits in 4
 * bytes; 16 bytes of codes per block as in IQ4_NL. */
void encode_iq4_xs(const float *x, const float *w, uint8_t *out)
{
    struct super_block s = {
        .grid = &iq4_grid, .block = BLOCK, .scale_lo = -32, .scale_hi = 31, .x = x, .w = w
    };
    uint16_t upper = 0;
    fit_super_block(&s);
    const uint16_t d = encode_f16(s.d);
    memset(out, 0, 8);
    for (int b = 0; b < SUPER_BLOCK / BLOCK; b++) {
        const unsigned scale = (unsigned)(s.scale[b] + 32);
        upper = (uint16_t)(upper | scale >> 4 << 2 * b);
        out[4 + b / 2] = (uint8_t)(out[4 + b / 2] | (scale & 15) << b % 2 * 4);
        for (int i = 0; i < BLOCK / 2; i++)
            out[8 + b * 16 + i] =
                (uint8_t)(s.index[b * BLOCK + i] | s.index[b * BLOCK + i + 16] << 4);
    }
    memcpy(out, &d, 2);
    memcpy(out + 2, &upper, 2);
}
