/* SPDX-License-Identifier: Apache-2.0 */
/* group_decode.c - decodes GGUF's quantized blocks. */
#include "linear/group_decode.h"
#include "base/weight_type.h"
#include "linear/iq3_grid.h"
#include <string.h>

/* Values are in file order. Fields are little-endian; blocks have no alignment. */

static uint16_t u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* 32 four-bit codes: values 0..15 in the low nibbles, 16..31 in the high nibbles. */
static void nibbles(const uint8_t *q, uint8_t *code)
{
    for (int i = 0; i < 16; i++) {
        code[i] = q[i] & 15;
        code[i + 16] = q[i] >> 4;
    }
}

/* Bit i of `bits` is the fifth bit of code i. */
static void fifth_bits(uint32_t bits, uint8_t *code)
{
    for (int i = 0; i < 32; i++)
        code[i] |= (uint8_t)((bits >> i & 1) << 4);
}

static void decode_32(uint32_t type, const uint8_t *p, size_t b, struct qr_group *g)
{
    uint8_t *code = g->code + b * QR_BLOCK_K;
    if (type == QR_WEIGHT_MXFP4) { /* u8 e; u8 q[16] */
        g->scale[b] = p[0];
        nibbles(p + 1, code);
        return;
    }
    g->d[b] = u16(p);
    switch (type) {
    case QR_WEIGHT_Q8_0: /* f16 d; s8 q[32] */
        for (int i = 0; i < 32; i++)
            code[i] = p[2 + i] ^ 0x80;
        break;
    case QR_WEIGHT_Q4_1: /* f16 d, m; u8 q[16] */
        g->m[b] = u16(p + 2);
        nibbles(p + 4, code);
        break;
    case QR_WEIGHT_Q5_0: /* f16 d; u32 bits; u8 q[16] */
        nibbles(p + 6, code);
        fifth_bits(u32(p + 2), code);
        break;
    case QR_WEIGHT_Q5_1: /* f16 d, m; u32 bits; u8 q[16] */
        g->m[b] = u16(p + 2);
        nibbles(p + 8, code);
        fifth_bits(u32(p + 4), code);
        break;
    default: /* Q4_0, IQ4_NL: f16 d; u8 q[16] */
        nibbles(p + 2, code);
        break;
    }
}

/* 256 two-bit codes: every 32 bytes hold 4 x 32 values, lowest bits first. */
static void pairs_256(const uint8_t *q, uint8_t *code)
{
    for (int half = 0; half < 2; half++)
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 32; i++)
                code[128 * half + 32 * j + i] = q[32 * half + i] >> (2 * j) & 3;
}

static void decode_q2_k(const uint8_t *p, struct qr_group *g)
{ /* u8 scale | min << 4 [16]; u8 q[64]; f16 d, dmin */
    for (int i = 0; i < 16; i++) {
        g->scale[i] = p[i] & 15;
        g->min[i] = p[i] >> 4;
    }
    pairs_256(p + 16, g->code);
    g->d[0] = u16(p + 80);
    g->m[0] = u16(p + 82);
}

static void decode_q3_k(const uint8_t *p, struct qr_group *g)
{ /* u8 third bits [32]; u8 q[64]; 6-bit scales [12 bytes]; f16 d */
    const uint8_t *s = p + 96;
    pairs_256(p + 32, g->code);
    for (int k = 0; k < 256; k++)
        g->code[k] |= (uint8_t)((p[k % 32] >> (k / 32) & 1) << 2);
    for (int i = 0; i < 16; i++) {
        const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
        const int high = s[8 + i % 4] >> (2 * (i / 4)) & 3;
        g->scale[i] = (uint8_t)((low | high << 4) - 32);
    }
    g->d[0] = u16(p + 108);
}

/* Eight 6-bit scales and mins in 12 bytes. Scales 0-3 are the low six bits of bytes 0-3, mins 0-3
 * those of bytes 4-7. Scales and mins 4-7 have their low nibbles in bytes 8-11 and their high two
 * bits in the high bits of bytes 0-7. */
static void scales_and_mins(const uint8_t *s, struct qr_group *g)
{
    for (int i = 0; i < 4; i++) {
        g->scale[i] = s[i] & 63;
        g->min[i] = s[i + 4] & 63;
        g->scale[i + 4] = (uint8_t)((s[i + 8] & 15) | s[i] >> 6 << 4);
        g->min[i + 4] = (uint8_t)(s[i + 8] >> 4 | s[i + 4] >> 6 << 4);
    }
}

/* 256 four-bit codes: every 32 bytes hold 64 values, low nibbles first. */
static void nibbles_256(const uint8_t *q, uint8_t *code)
{
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 32; i++) {
            code[64 * j + i] = q[32 * j + i] & 15;
            code[64 * j + 32 + i] = q[32 * j + i] >> 4;
        }
}

static void decode_q4_k(const uint8_t *p, struct qr_group *g)
{ /* f16 d, dmin; scales and mins [12 bytes]; u8 q[128] */
    g->d[0] = u16(p);
    g->m[0] = u16(p + 2);
    scales_and_mins(p + 4, g);
    nibbles_256(p + 16, g->code);
}

static void decode_q5_k(const uint8_t *p, struct qr_group *g)
{ /* f16 d, dmin; scales and mins [12 bytes]; u8 fifth bits [32]; u8 q[128] */
    g->d[0] = u16(p);
    g->m[0] = u16(p + 2);
    scales_and_mins(p + 4, g);
    nibbles_256(p + 48, g->code);
    for (int k = 0; k < 256; k++)
        g->code[k] |= (uint8_t)((p[16 + k % 32] >> (k / 32) & 1) << 4);
}

static void decode_q6_k(const uint8_t *p, struct qr_group *g)
{ /* u8 low nibbles [128]; u8 high pairs [64]; s8 scale[16]; f16 d */
    for (int half = 0; half < 2; half++)
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 32; i++) {
                const int low = p[64 * half + 32 * (j & 1) + i] >> (4 * (j >> 1)) & 15;
                const int high = p[128 + 32 * half + i] >> (2 * j) & 3;
                g->code[128 * half + 32 * j + i] = (uint8_t)(low | high << 4);
            }
    memcpy(g->scale, p + 192, 16);
    g->d[0] = u16(p + 208);
}

static void decode_iq4_xs(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u16 high pairs of scales; u8 low nibbles of scales [4]; u8 q[128] */
    g->d[0] = u16(p);
    for (int i = 0; i < 8; i++) {
        const int low = p[4 + i / 2] >> (4 * (i % 2)) & 15;
        const int high = u16(p + 2) >> (2 * i) & 3;
        g->scale[i] = (uint8_t)((low | high << 4) - 32);
        nibbles(p + 8 + 16 * i, g->code + 32 * i);
    }
}

/* Eight values: two grid entries of four magnitudes each, and eight sign bits. */
static void grid_8(const uint16_t *grid, unsigned i0, unsigned i1, unsigned signs, uint8_t *code)
{
    for (int j = 0; j < 4; j++) {
        code[j] = (uint8_t)((grid[i0] >> (3 * j) & 7) | (signs >> j & 1) << 3);
        code[j + 4] = (uint8_t)((grid[i1] >> (3 * j) & 7) | (signs >> (j + 4) & 1) << 3);
    }
}

static void decode_iq3_xxs(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u8 index[64]; u32 { signs: 4 x 7 bits, scale: 4 bits } [8] */
    g->d[0] = u16(p);
    for (int i = 0; i < 8; i++) {
        const uint8_t *index = p + 2 + 8 * i;
        const uint32_t tail = u32(p + 66 + 4 * i);
        g->scale[i] = (uint8_t)(2 * (tail >> 28) + 1);
        for (int j = 0; j < 4; j++) {
            /* the number of negative signs is even, so seven bits determine the eighth */
            const unsigned seven = tail >> (7 * j) & 127,
                           eighth = (unsigned)__builtin_parity(seven);
            grid_8(qr_iq3_xxs_grid, index[2 * j], index[2 * j + 1], seven | eighth << 7,
                   g->code + 32 * i + 8 * j);
        }
    }
}

static void decode_iq3_s(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u8 index[64]; u8 ninth bits [8]; u8 signs[32]; u8 scale nibbles [4] */
    g->d[0] = u16(p);
    for (int i = 0; i < 8; i++) {
        const uint8_t *index = p + 2 + 8 * i;
        const unsigned ninth = p[66 + i];
        g->scale[i] = (uint8_t)(2 * (p[106 + i / 2] >> (4 * (i % 2)) & 15) + 1);
        for (int j = 0; j < 4; j++)
            grid_8(qr_iq3_s_grid, index[2 * j] | (ninth >> (2 * j) & 1) << 8,
                   index[2 * j + 1] | (ninth >> (2 * j + 1) & 1) << 8, p[74 + 4 * i + j],
                   g->code + 32 * i + 8 * j);
    }
}

size_t qr_group_raw_bytes(uint32_t type, size_t n_blocks)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    return n_blocks * QR_BLOCK_K / info->block_elems * info->block_bytes;
}

void qr_group_decode(uint32_t type, const uint8_t *raw, size_t n_blocks, struct qr_group *g)
{
    switch (type) {
    case QR_WEIGHT_Q2_K:
        decode_q2_k(raw, g);
        return;
    case QR_WEIGHT_Q3_K:
        decode_q3_k(raw, g);
        return;
    case QR_WEIGHT_Q4_K:
        decode_q4_k(raw, g);
        return;
    case QR_WEIGHT_Q5_K:
        decode_q5_k(raw, g);
        return;
    case QR_WEIGHT_Q6_K:
        decode_q6_k(raw, g);
        return;
    case QR_WEIGHT_IQ3_XXS:
        decode_iq3_xxs(raw, g);
        return;
    case QR_WEIGHT_IQ3_S:
        decode_iq3_s(raw, g);
        return;
    case QR_WEIGHT_IQ4_XS:
        decode_iq4_xs(raw, g);
        return;
    default:
        break;
    }
    const size_t bytes = qr_weight_type_info(type)->block_bytes;
    for (size_t b = 0; b < n_blocks; b++)
        decode_32(type, raw + b * bytes, b, g);
}
