/* SPDX-License-Identifier: Apache-2.0 */
/* group_decode_grid.c - decodes GGUF's blocks of grid indices. */
#include "linear/group_decode_grid.h"
#include "base/weight_type.h"
#include "linear/iq1_grid.h"
#include "linear/iq2_grid.h"
#include "linear/iq3_grid.h"
#include "linear/load_le.h"

/* Values are in file order; j counts entries of eight values, i sub-blocks of 32. */

/* The number of negative signs of eight values is even, so seven bits determine the eighth. */
static unsigned eight_signs(unsigned seven)
{
    return seven | (unsigned)__builtin_parity(seven) << 7;
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
    g->d[0] = qr_load_le16(p);
    for (int i = 0; i < 8; i++) {
        const uint8_t *index = p + 2 + 8 * i;
        const uint32_t tail = qr_load_le32(p + 66 + 4 * i);
        g->scale[i] = (uint8_t)(2 * (tail >> 28) + 1);
        for (int j = 0; j < 4; j++) {
            grid_8(qr_iq3_xxs_grid, index[2 * j], index[2 * j + 1],
                   eight_signs(tail >> (7 * j) & 127), g->code + 32 * i + 8 * j);
        }
    }
}

static void decode_iq3_s(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u8 index[64]; u8 ninth bits [8]; u8 signs[32]; u8 scale nibbles [4] */
    g->d[0] = qr_load_le16(p);
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

/* Eight values of IQ2: one grid entry of digits 0 to 2, and eight sign bits. */
static void iq2_8(unsigned entry, unsigned signs, uint8_t *code)
{
    for (int j = 0; j < 8; j++)
        code[j] = (uint8_t)((entry >> (2 * j) & 3) | (signs >> j & 1) << 2);
}

static void decode_iq2_xxs(const uint8_t *p, struct qr_group *g)
{ /* f16 d; { u8 index[4]; u32 { signs: 4 x 7 bits, scale: 4 bits } } [8] */
    g->d[0] = qr_load_le16(p);
    p += 2;
    for (int i = 0; i < 8; i++, p += 8) {
        const uint32_t tail = qr_load_le32(p + 4);
        g->scale[i] = (uint8_t)(tail >> 28);
        for (int j = 0; j < 4; j++)
            iq2_8(qr_iq2_xxs_grid[p[j]], eight_signs(tail >> (7 * j) & 127),
                  g->code + 32 * i + 8 * j);
    }
}

/* Sixteen scales of four bits, low nibble first. */
static void scales_16(const uint8_t *p, struct qr_group *g)
{
    for (int i = 0; i < 16; i++)
        g->scale[i] = p[i / 2] >> (4 * (i % 2)) & 15;
}

static void decode_iq2_xs(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u16 { index: 9 bits, signs: 7 bits } [32]; u8 scale nibbles [8] */
    g->d[0] = qr_load_le16(p);
    scales_16(p + 66, g);
    for (int j = 0; j < 32; j++) {
        const unsigned q = qr_load_le16(p + 2 + 2 * j);
        iq2_8(qr_iq2_xs_grid[q & 511], eight_signs(q >> 9), g->code + 8 * j);
    }
}

static void decode_iq2_s(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u8 index[32]; u8 signs[32]; u8 high pairs of indices [8]; u8 scale nibbles [8] */
    g->d[0] = qr_load_le16(p);
    scales_16(p + 74, g);
    for (int j = 0; j < 32; j++) {
        const unsigned high = p[66 + j / 4] >> (2 * (j % 4)) & 3;
        iq2_8(qr_iq2_s_grid[p[2 + j] | high << 8], p[34 + j], g->code + 8 * j);
    }
}

static void decode_iq1_s(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u8 index[32]; u16 { high bits of indices: 4 x 3, scale: 3, minus: 1 bit } [8] */
    g->d[0] = qr_load_le16(p);
    for (int i = 0; i < 8; i++) {
        const unsigned high = qr_load_le16(p + 34 + 2 * i);
        g->scale[i] = (uint8_t)(high >> 12);
        for (int j = 4 * i; j < 4 * i + 4; j++) {
            const unsigned entry = qr_iq1_grid[p[2 + j] | (high >> (3 * (j % 4)) & 7) << 8];
            for (int v = 0; v < 8; v++)
                g->code[8 * j + v] = entry >> (2 * v) & 3;
        }
    }
}

static void decode_iq1_m(const uint8_t *p, struct qr_group *g)
{ /* u8 index[32]; u8 { high bits: 3, minus: 1 } x 2 [16]; u16 { scales: 4 x 3, d: 4 bits } [4] */
    g->d[0] = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned s = qr_load_le16(p + 48 + 2 * i);
        g->d[0] |= (uint16_t)(s >> 12 << (4 * i));
        for (int n = 0; n < 4; n++)
            g->scale[4 * i + n] = s >> (3 * n) & 7;
    }
    for (int j = 0; j < 32; j++) {
        const unsigned high = p[32 + j / 2] >> (4 * (j % 2)) & 15;
        const unsigned entry = qr_iq1_grid[p[j] | (high & 7) << 8];
        for (int v = 0; v < 8; v++)
            g->code[8 * j + v] = (uint8_t)((entry >> (2 * v) & 3) | (high >> 3) << 2);
    }
}

bool qr_group_decode_grid(uint32_t type, const uint8_t *raw, struct qr_group *g)
{
    switch (type) {
    case QR_WEIGHT_IQ1_S:
        decode_iq1_s(raw, g);
        return true;
    case QR_WEIGHT_IQ1_M:
        decode_iq1_m(raw, g);
        return true;
    case QR_WEIGHT_IQ2_XXS:
        decode_iq2_xxs(raw, g);
        return true;
    case QR_WEIGHT_IQ2_XS:
        decode_iq2_xs(raw, g);
        return true;
    case QR_WEIGHT_IQ2_S:
        decode_iq2_s(raw, g);
        return true;
    case QR_WEIGHT_IQ3_XXS:
        decode_iq3_xxs(raw, g);
        return true;
    case QR_WEIGHT_IQ3_S:
        decode_iq3_s(raw, g);
        return true;
    default:
        return false;
    }
}
