/* SPDX-License-Identifier: Apache-2.0 */
/* encode_k.c - Q4_K and Q5_K: super-blocks of 8 blocks of 32 values. A value is
 * d * scale[b] * q - dmin * min[b], with scales and minimums of 6 bits and f16 d and dmin. */
#include "base/half.h"
#include "encode_block.h"
#include "fit.h"
#include <math.h>
#include <string.h>

enum { BLOCKS = SUPER_BLOCK / BLOCK, MAX_6_BITS = 63, ROUNDS = 3 };

struct super_block {
    int max; /* largest code: 15 or 31 */
    const float *x, *w;
    float d, dmin;
    uint8_t scale[BLOCKS], min[BLOCKS], q[SUPER_BLOCK];
};

static int clamp_6_bits(float v) { return (int)lrintf(fit_clamp(v, 0, MAX_6_BITS)); }

static float assign(const struct super_block *s, int b, int scale, int min, uint8_t *q)
{
    const struct affine a = { s->d * (float)scale, s->dmin * (float)min };
    return fit_assign(s->max, a, s->x + b * BLOCK, s->w + b * BLOCK, BLOCK, q);
}

/* Rounds the scale and minimum of block b to 6 bits: the best of the nearest and its neighbors.
 * Returns the error. */
static float round_block(struct super_block *s, int b, struct affine a)
{
    const int scale = clamp_6_bits(s->d > 0 ? a.scale / s->d : 0),
              min = clamp_6_bits(s->dmin > 0 ? a.min / s->dmin : 0);
    float best = INFINITY;
    for (int i = scale - 1; i <= scale + 1; i++)
        for (int j = min - 1; j <= min + 1; j++) {
            uint8_t q[BLOCK];
            if (i < 0 || i > MAX_6_BITS || j < 0 || j > MAX_6_BITS)
                continue;
            const float error = assign(s, b, i, j, q);
            if (error < best) {
                best = error;
                s->scale[b] = (uint8_t)i;
                s->min[b] = (uint8_t)j;
                memcpy(s->q + b * BLOCK, q, BLOCK);
            }
        }
    return best;
}

static float round_blocks(struct super_block *s, const struct affine *fits)
{
    float error = 0;
    for (int b = 0; b < BLOCKS; b++)
        error += round_block(s, b, fits[b]);
    return error;
}

/* The d and dmin that are best for the codes, scales and minimums of s. */
static void solve(struct super_block *s)
{
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0; /* a = scale * q, b = min */
    for (int i = 0; i < SUPER_BLOCK; i++) {
        const double w = s->w[i], a = (double)s->scale[i / BLOCK] * s->q[i], b = s->min[i / BLOCK];
        aa += w * a * a;
        ab += w * a * b;
        bb += w * b * b;
        ax += w * a * s->x[i];
        bx += w * b * s->x[i];
    }
    const double det = aa * bb - ab * ab;
    if (det > 0) {
        s->d = (float)((ax * bb - bx * ab) / det);
        s->dmin = (float)((ax * ab - bx * aa) / det);
    } else if (aa > 0) {
        s->d = (float)(ax / aa);
    }
    s->d = encode_round_f16(fmaxf(s->d, 0));
    s->dmin = encode_round_f16(fmaxf(s->dmin, 0));
}

static void fit_super_block(struct super_block *s)
{
    struct affine fits[BLOCKS];
    float scale = 0, min = 0;
    for (int b = 0; b < BLOCKS; b++) {
        fits[b] = fit_affine(s->max, s->x + b * BLOCK, s->w + b * BLOCK, BLOCK);
        scale = fmaxf(scale, fits[b].scale);
        min = fmaxf(min, fits[b].min);
    }
    s->d = encode_round_f16(scale / MAX_6_BITS);
    s->dmin = encode_round_f16(min / MAX_6_BITS);
    float error = round_blocks(s, fits);
    for (int i = 0; i < ROUNDS; i++) {
        const struct super_block before = *s;
        solve(s);
        const float now = round_blocks(s, fits);
        if (!(now < error)) {
            *s = before;
            break;
        }
        error = now;
    }
}

/* d, dmin, then 12 bytes with 8 scales and 8 minimums of 6 bits. Bytes 0 .. 3 and 4 .. 7: scales
 * and minimums 0 .. 3, and in their upper two bits the upper bits of numbers 4 .. 7, whose lower
 * four bits are in bytes 8 .. 11. */
static void store_header(const struct super_block *s, uint8_t out[16])
{
    const uint16_t d = encode_f16(s->d), dmin = encode_f16(s->dmin);
    memcpy(out, &d, 2);
    memcpy(out + 2, &dmin, 2);
    for (int i = 0; i < 4; i++) {
        out[4 + i] = (uint8_t)(s->scale[i] | s->scale[i + 4] >> 4 << 6);
        out[8 + i] = (uint8_t)(s->min[i] | s->min[i + 4] >> 4 << 6);
        out[12 + i] = (uint8_t)((s->scale[i + 4] & 15) | s->min[i + 4] << 4);
    }
}

/* Byte i of pair p of blocks: value i of block 2p in the low half, of block 2p + 1 in the high. */
static void store_low_bits(const struct super_block *s, uint8_t *out)
{
    for (int p = 0; p < BLOCKS / 2; p++)
        for (int i = 0; i < BLOCK; i++) {
            const uint8_t *q = s->q + 2 * p * BLOCK;
            out[p * BLOCK + i] = (uint8_t)((q[i] & 15) | (q[i + BLOCK] & 15) << 4);
        }
}

void encode_q4_k(const float *x, const float *w, uint8_t *out)
{
    struct super_block s = { .max = 15, .x = x, .w = w };
    fit_super_block(&s);
    store_header(&s, out);
    store_low_bits(&s, out + 16);
}

void encode_q5_k(const float *x, const float *w, uint8_t *out)
{
    struct super_block s = { .max = 31, .x = x, .w = w };
    fit_super_block(&s);
    store_header(&s, out);
    /* bit b of byte i: the fifth bit of value i of block b */
    for (int i = 0; i < BLOCK; i++) {
        out[16 + i] = 0;
        for (int b = 0; b < BLOCKS; b++)
            out[16 + i] |= (uint8_t)(s.q[b * BLOCK + i] >> 4 << b);
    }
    store_low_bits(&s, out + 16 + BLOCK);
}
