/* SPDX-License-Identifier: Apache-2.0 */
/* group_decode.c - decodes quantized blocks. */
#include "linear/group_decode.h"
#include "base/weight_type.h"
#include "linear/group_decode_grid.h"
#include "linear/load_le.h"
#include "linear/panel_format.h"
#include <string.h>

/* Values are in file order. Fields are little-endian; blocks have no alignment. */

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

/* u8 scale[4]: unsigned E4M3, one per 16 values; u8 q[32]. The format ignores the sign of a scale,
 * and 0x7f is zero. */
static void decode_nvfp4(const uint8_t *p, size_t b, struct qr_group *g)
{
    uint8_t *code = g->code + b * QR_BLOCK_K;
    for (int i = 0; i < 4; i++) {
        g->scale[2 * b + (size_t)i] = p[i] == 0x7f ? 0 : p[i] & 0x7f;
        for (int j = 0; j < 8; j++) {
            code[16 * i + j] = p[4 + 8 * i + j] & 15;
            code[16 * i + 8 + j] = p[4 + 8 * i + j] >> 4;
        }
    }
}

/* f16 d; n codes of `bits` bits, lowest bits first, stored as 2^(2 - bits) times their value. */
static void decode_plain(const uint8_t *p, int bits, size_t n, uint8_t *code)
{
    for (size_t k = 0; k < n; k++) {
        const size_t at = k * (size_t)bits;
        code[k] = (uint8_t)((p[2 + at / 8] >> (at % 8) & ((1 << bits) - 1)) << (2 - bits));
    }
}

/* Blocks of 64 and 128 values. */
static void decode_64(uint32_t type, const uint8_t *p, size_t b, struct qr_group *g)
{
    uint8_t *code = g->code + b * QR_BLOCK_K;
    if (type == QR_WEIGHT_NVFP4) {
        decode_nvfp4(p, b, g);
    } else if (type == QR_WEIGHT_Q2_0) {
        g->d[b / 2] = qr_load_le16(p);
        decode_plain(p, 2, 64, code);
    } else { /* Q1_0 */
        g->d[b / 4] = qr_load_le16(p);
        decode_plain(p, 1, 128, code);
    }
}

static void decode_32(uint32_t type, const uint8_t *p, size_t b, struct qr_group *g)
{
    uint8_t *code = g->code + b * QR_BLOCK_K;
    if (type == QR_WEIGHT_MXFP4) { /* u8 e; u8 q[16] */
        g->scale[b] = p[0];
        nibbles(p + 1, code);
        return;
    }
    g->d[b] = qr_load_le16(p);
    switch (type) {
    case QR_WEIGHT_Q8_0: /* f16 d; s8 q[32] */
        for (int i = 0; i < 32; i++)
            code[i] = p[2 + i] ^ 0x80;
        break;
    case QR_WEIGHT_Q4_1: /* f16 d, m; u8 q[16] */
        g->m[b] = qr_load_le16(p + 2);
        nibbles(p + 4, code);
        break;
    case QR_WEIGHT_Q5_0: /* f16 d; u32 bits; u8 q[16] */
        nibbles(p + 6, code);
        fifth_bits(qr_load_le32(p + 2), code);
        break;
    case QR_WEIGHT_Q5_1: /* f16 d, m; u32 bits; u8 q[16] */
        g->m[b] = qr_load_le16(p + 2);
        nibbles(p + 8, code);
        fifth_bits(qr_load_le32(p + 4), code);
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
    g->d[0] = qr_load_le16(p + 80);
    g->m[0] = qr_load_le16(p + 82);
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
    g->d[0] = qr_load_le16(p + 108);
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
    g->d[0] = qr_load_le16(p);
    g->m[0] = qr_load_le16(p + 2);
    scales_and_mins(p + 4, g);
    nibbles_256(p + 16, g->code);
}

static void decode_q5_k(const uint8_t *p, struct qr_group *g)
{ /* f16 d, dmin; scales and mins [12 bytes]; u8 fifth bits [32]; u8 q[128] */
    g->d[0] = qr_load_le16(p);
    g->m[0] = qr_load_le16(p + 2);
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
    g->d[0] = qr_load_le16(p + 208);
}

static void decode_iq4_xs(const uint8_t *p, struct qr_group *g)
{ /* f16 d; u16 high pairs of scales; u8 low nibbles of scales [4]; u8 q[128] */
    g->d[0] = qr_load_le16(p);
    for (int i = 0; i < 8; i++) {
        const int low = p[4 + i / 2] >> (4 * (i % 2)) & 15;
        const int high = qr_load_le16(p + 2) >> (2 * i) & 3;
        g->scale[i] = (uint8_t)((low | high << 4) - 32);
        nibbles(p + 8 + 16 * i, g->code + 32 * i);
    }
}

/* Digit n of a byte of five ternary digits: the byte is a fixed-point fraction q / 256, whose
 * digits are those left of the point after multiplications by 3. */
static uint8_t ternary_digit(uint8_t q, int n)
{
    static const uint8_t pow3[5] = { 1, 3, 9, 27, 81 };
    return (uint8_t)((uint8_t)(q * pow3[n]) * 3 >> 8);
}

static void decode_tq1_0(const uint8_t *p, struct qr_group *g)
{ /* u8 q[48]: digits n of 32, then of 16 bytes; u8 h[4]: four digits each; f16 d */
    uint8_t *code = g->code;
    for (int n = 0; n < 5; n++)
        for (int i = 0; i < 32; i++)
            *code++ = ternary_digit(p[i], n);
    for (int n = 0; n < 5; n++)
        for (int i = 32; i < 48; i++)
            *code++ = ternary_digit(p[i], n);
    for (int n = 0; n < 4; n++)
        for (int i = 48; i < 52; i++)
            *code++ = ternary_digit(p[i], n);
    g->d[0] = qr_load_le16(p + 52);
}

static void decode_tq2_0(const uint8_t *p, struct qr_group *g)
{ /* u8 q[64]; f16 d */
    pairs_256(p, g->code);
    g->d[0] = qr_load_le16(p + 64);
}

/* Types of Hugging Face checkpoints; see base/weight_type.h. */
static void decode_hf(uint32_t type, const struct qr_weight_type_info *info, const uint8_t *raw,
                      size_t n, struct qr_group *g)
{
    const struct qr_panel_format f = *qr_weight_panel_format(type);
    uint8_t *code = g->code;
    for (size_t i = 0; i < n; i++, raw += info->block_bytes, code += info->block_elems) {
        const uint8_t *q = raw + 4;
        g->f[i] = qr_load_le32(raw);
        if (qr_panel_has_zero(f))
            g->min[i] = *q++;
        for (size_t k = 0; k < info->block_elems; k++)
            code[k] = f.low_bits == 4 ? q[k / 2] >> (4 * (k % 2)) & 15 : q[k] ^ f.offset;
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
    case QR_WEIGHT_IQ4_XS:
        decode_iq4_xs(raw, g);
        return;
    case QR_WEIGHT_TQ1_0:
        decode_tq1_0(raw, g);
        return;
    case QR_WEIGHT_TQ2_0:
        decode_tq2_0(raw, g);
        return;
    default:
        break;
    }
    if (qr_group_decode_grid(type, raw, g))
        return;
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    if (type >= QR_WEIGHT_FIRST_HF) {
        decode_hf(type, info, raw, n_blocks * QR_BLOCK_K / info->block_elems, g);
        return;
    }
    for (size_t b = 0; b < n_blocks; b += info->block_elems / QR_BLOCK_K) {
        (info->block_elems == 32 ? decode_32 : decode_64)(type, raw, b, g);
        raw += info->block_bytes;
    }
}
