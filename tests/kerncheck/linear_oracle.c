/* SPDX-License-Identifier: Apache-2.0 */
/* linear_oracle.c - the quantized formats bit by bit, from their definition. */
#include "linear_oracle.h"
#include "linear/iq1_grid.h"
#include "linear/iq2_grid.h"
#include "linear/iq3_grid.h"
#include <math.h>
#include <string.h>

/* Reads n bits of p from bit `at` on, least significant first. */
static int bits(const uint8_t *p, size_t at, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++)
        v |= (p[(at + (size_t)i) / 8] >> ((at + (size_t)i) % 8) & 1) << i;
    return v;
}

static double half_at(const uint8_t *p)
{
    return (double)kc_f16_value((uint16_t)(p[0] | p[1] << 8));
}

static const int iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113 };
static const double e2m1[16] = { 0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6 };

/* Value i of 32 nibbles; the second half of the values is in the high nibbles. */
static int nibble(const uint8_t *q, size_t i)
{
    return bits(q, 8 * (i % 16) + (i >= 16 ? 4 : 0), 4);
}

static struct kc_weight block32(enum qr_weight_type type, const uint8_t *p, size_t i)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    w.scale = type == QR_WEIGHT_MXFP4 ? ldexp(1, p[0] - 128) : half_at(p);
    switch (type) {
    case QR_WEIGHT_Q4_0:
        w.q = nibble(p + 2, i) - 8;
        break;
    case QR_WEIGHT_Q4_1:
        w.q = nibble(p + 4, i);
        w.min = -half_at(p + 2);
        break;
    case QR_WEIGHT_Q5_0:
        w.q = nibble(p + 6, i) + 16 * bits(p + 2, i, 1) - 16;
        break;
    case QR_WEIGHT_Q5_1:
        w.q = nibble(p + 8, i) + 16 * bits(p + 4, i, 1);
        w.min = -half_at(p + 2);
        break;
    case QR_WEIGHT_Q8_0:
        w.q = p[2 + i] < 128 ? p[2 + i] : p[2 + i] - 256;
        break;
    case QR_WEIGHT_IQ4_NL:
        w.q = iq4[nibble(p + 2, i)];
        break;
    default: /* MXFP4: the scale above is half of the format, so that q is an integer */
        w.q = (int)(2 * e2m1[nibble(p + 1, i)]);
        break;
    }
    return w;
}

/* Six-bit numbers i = 0..7 (scales) and 8..15 (mins) of Q4_K and Q5_K. */
static int six_bits(const uint8_t *s, int i)
{
    const int j = i % 8, is_min = i / 8;
    if (j < 4)
        return bits(s + 4 * is_min + j, 0, 6);
    return bits(s + 8 + j - 4, is_min ? 4 : 0, 4) + 16 * bits(s + 4 * is_min + j - 4, 6, 2);
}

/* Sign bit k % 8 of eight values of which seven bits at `at` are stored; their parity is even. */
static int parity_sign(const uint8_t *p, size_t at, size_t k)
{
    if (k % 8 < 7)
        return bits(p, at + k % 8, 1);
    int minus = 0;
    for (size_t b = 0; b < 7; b++)
        minus ^= bits(p, at + b, 1);
    return minus;
}

/* IQ3_XXS and IQ3_S. Uses the grids of the library; test_linear_weights checks them. */
static struct kc_weight grid_weight(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    const size_t sub = k / 32, eight = k / 8, four = k / 4, digit = 3 * (k % 4);
    int magnitude, minus;
    if (type == QR_WEIGHT_IQ3_XXS) {
        const int i = qr_iq3_xxs_grid[p[2 + four]] >> digit & 7, seven = 7 * (int)(eight % 4);
        magnitude = i == 7 ? 31 : 4 * i + 2; /* half of the format; the scale is doubled */
        minus = parity_sign(p + 66 + 4 * sub, (size_t)seven, k);
        w.scale = half_at(p) * (bits(p + 66 + 4 * sub, 28, 4) + 0.5);
    } else {
        magnitude = 2 * (qr_iq3_s_grid[p[2 + four] + 256 * bits(p + 66, four, 1)] >> digit & 7) + 1;
        minus = bits(p + 74, k, 1);
        w.scale = half_at(p) * (1 + 2 * bits(p + 106, 4 * sub, 4));
    }
    w.q = minus ? -magnitude : magnitude;
    return w;
}

/* IQ2_XXS, IQ2_XS and IQ2_S. Uses the grids of the library; test_linear_weights checks them. */
static struct kc_weight iq2_weight(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    static const int magnitudes[4] = { 8, 25, 43, 0 };
    struct kc_weight w = { 0, 0, 0, 0 };
    const size_t eight = k / 8, sub = k / 32;
    int entry, minus, scale;
    if (type == QR_WEIGHT_IQ2_XXS) {
        const uint8_t *s = p + 2 + 8 * sub;
        entry = qr_iq2_xxs_grid[s[eight % 4]];
        minus = parity_sign(s + 4, 7 * (eight % 4), k);
        scale = bits(s + 4, 28, 4);
    } else if (type == QR_WEIGHT_IQ2_XS) {
        entry = qr_iq2_xs_grid[bits(p + 2, 16 * eight, 9)];
        minus = parity_sign(p + 2, 16 * eight + 9, k);
        scale = bits(p + 66, 4 * (k / 16), 4);
    } else {
        entry = qr_iq2_s_grid[p[2 + eight] + 256 * bits(p + 66, 2 * eight, 2)];
        minus = bits(p + 34, k, 1);
        scale = bits(p + 74, 4 * (k / 16), 4);
    }
    w.q = magnitudes[entry >> (2 * (k % 8)) & 3] * (minus ? -1 : 1);
    w.scale = half_at(p) * (scale + 0.5) / 4;
    return w;
}

/* IQ1_S: scale * (t + delta) as scale * (t + 1) - scale * (1 - delta). IQ1_M: scale / 8 times the
 * integer 8 (t + delta). delta = 1/8 or -1/8. */
static struct kc_weight iq1_weight(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    const size_t eight = k / 8, sub = k / 32, digit = 2 * (k % 8);
    if (type == QR_WEIGHT_IQ1_S) {
        const uint8_t *h = p + 34 + 2 * sub;
        w.q = qr_iq1_grid[p[2 + eight] + 256 * bits(h, 3 * (eight % 4), 3)] >> digit & 3;
        w.scale = half_at(p) * (2 * bits(h, 12, 3) + 1);
        w.min = w.scale * (bits(h, 15, 1) ? 1.125 : 0.875);
    } else {
        const int entry = qr_iq1_grid[p[eight] + 256 * bits(p + 32, 4 * eight, 3)];
        uint8_t d[2] = { 0, 0 };
        for (size_t i = 0; i < 4; i++)
            d[i / 2] |= (uint8_t)(bits(p + 48, 16 * i + 12, 4) << (4 * (i % 2)));
        w.q = 8 * ((entry >> digit & 3) - 1) + (bits(p + 32, 4 * eight + 3, 1) ? -1 : 1);
        w.scale = half_at(d) * (2 * bits(p + 48, 16 * (k / 64) + 3 * (k / 16 % 4), 3) + 1) / 8;
    }
    return w;
}

/* Digit of a TQ1_0 byte: the byte is 256 / 243 of a number of five ternary digits, rounded up, the
 * highest digit first. */
static int ternary(uint8_t byte, int digit)
{
    int rest = byte;
    for (int i = 0; i < digit; i++)
        rest = 3 * rest % 256;
    return 3 * rest / 256;
}

static struct kc_weight ternary_weight(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    if (type == QR_WEIGHT_TQ2_0)
        w.q = bits(p + 32 * (k / 128) + k % 32, 2 * (k / 32 % 4), 2) - 1;
    else if (k < 160)
        w.q = ternary(p[k % 32], (int)(k / 32)) - 1;
    else if (k < 240)
        w.q = ternary(p[32 + k % 16], (int)((k - 160) / 16)) - 1;
    else
        w.q = ternary(p[48 + k % 4], (int)((k - 240) / 4)) - 1;
    w.scale = half_at(p + (type == QR_WEIGHT_TQ2_0 ? 64 : 52));
    return w;
}

/* Blocks of 64 and 128 values. */
static struct kc_weight block64(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    if (type == QR_WEIGHT_NVFP4) { /* half of the scale, so that q is an integer */
        const int e = bits(p + k / 16, 3, 4), m = bits(p + k / 16, 0, 3);
        w.scale = p[k / 16] == 0x7f ? 0 : ldexp(e ? 8 + m : 2 * m, e - 11);
        w.q = (int)(2 * e2m1[bits(p + 4 + 8 * (k / 16) + k % 8, k % 16 < 8 ? 0 : 4, 4)]);
    } else {
        w.q = type == QR_WEIGHT_Q1_0 ? 2 * bits(p + 2, k, 1) - 1 : bits(p + 2, 2 * k, 2) - 1;
        w.scale = half_at(p);
    }
    return w;
}

/* Types of Hugging Face checkpoints: f32 scale, zero point, codes in the order of k. */
static struct kc_weight hf_weight(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    static const double nf4[16] = { -1,
                                    -0.6961928009986877,
                                    -0.5250730514526367,
                                    -0.39491748809814453,
                                    -0.28444138169288635,
                                    -0.18477343022823334,
                                    -0.09105003625154495,
                                    0,
                                    0.07958029955625534,
                                    0.16093020141124725,
                                    0.24611230194568634,
                                    0.33791524171829224,
                                    0.44070982933044434,
                                    0.5626170039176941,
                                    0.7229568362236023,
                                    1 };
    struct kc_weight w = { 0, 0, 0, 0 };
    float d;
    memcpy(&d, p, sizeof d);
    w.scale = (double)d;
    if (type == QR_WEIGHT_NF4_64) {
        w.value = (double)d * nf4[bits(p + 4, 4 * k, 4)];
    } else if (type == QR_WEIGHT_F8_E4M3_32 || type == QR_WEIGHT_F8_E4M3_128) {
        const int e = bits(p + 4 + k, 3, 4), m = bits(p + 4 + k, 0, 3);
        w.value = (double)d * ldexp(e ? 8 + m : m, (e ? e : 1) - 10);
        w.value = p[4 + k] & 128 ? -w.value : w.value;
    } else {
        const int zero = p[4] < 128 ? p[4] : p[4] - 256;
        const bool byte = type == QR_WEIGHT_INT8_32 || type == QR_WEIGHT_INT8_128;
        w.q = byte ? (p[5 + k] < 128 ? p[5 + k] : p[5 + k] - 256) : bits(p + 5, 4 * k, 4);
        w.min = (double)(d * (float)zero);
        w.value = (double)((float)(w.scale * w.q) - (float)w.min);
        return w;
    }
    w.value = (double)(float)w.value;
    return w;
}

static struct kc_weight block256(enum qr_weight_type type, const uint8_t *p, size_t k)
{
    struct kc_weight w = { 0, 0, 0, 0 };
    const size_t half = k / 128, quarter = k / 32 % 4, i = k % 32, sub = k / 16;
    switch (type) {
    case QR_WEIGHT_Q2_K:
        w.q = bits(p + 16 + 32 * half + i, 2 * quarter, 2);
        w.scale = half_at(p + 80) * bits(p + sub, 0, 4);
        w.min = half_at(p + 82) * bits(p + sub, 4, 4);
        break;
    case QR_WEIGHT_Q3_K:
        w.q = bits(p + 32 + 32 * half + i, 2 * quarter, 2) -
              (bits(p + i, 4 * half + quarter, 1) ? 0 : 4);
        w.scale = half_at(p + 108) * (bits(p + 96 + sub % 8, sub < 8 ? 0 : 4, 4) +
                                      16 * bits(p + 104 + sub % 4, 2 * (sub / 4), 2) - 32);
        break;
    case QR_WEIGHT_Q4_K:
    case QR_WEIGHT_Q5_K: {
        const uint8_t *q = p + (type == QR_WEIGHT_Q4_K ? 16 : 48);
        w.q = bits(q + 32 * (k / 64) + i, k / 32 % 2 ? 4 : 0, 4);
        if (type == QR_WEIGHT_Q5_K)
            w.q += 16 * bits(p + 16 + i, k / 32, 1);
        w.scale = half_at(p) * six_bits(p + 4, (int)(k / 32));
        w.min = half_at(p + 2) * six_bits(p + 4, 8 + (int)(k / 32));
        break;
    }
    case QR_WEIGHT_Q6_K:
        w.q = bits(p + 64 * half + 32 * (quarter % 2) + i, quarter / 2 ? 4 : 0, 4) +
              16 * bits(p + 128 + 32 * half + i, 2 * quarter, 2) - 32;
        w.scale = half_at(p + 208) * (p[192 + sub] < 128 ? p[192 + sub] : p[192 + sub] - 256);
        break;
    case QR_WEIGHT_IQ3_XXS:
    case QR_WEIGHT_IQ3_S:
        return grid_weight(type, p, k);
    case QR_WEIGHT_IQ2_XXS:
    case QR_WEIGHT_IQ2_XS:
    case QR_WEIGHT_IQ2_S:
        return iq2_weight(type, p, k);
    case QR_WEIGHT_IQ1_S:
    case QR_WEIGHT_IQ1_M:
        return iq1_weight(type, p, k);
    case QR_WEIGHT_TQ1_0:
    case QR_WEIGHT_TQ2_0:
        return ternary_weight(type, p, k);
    default: /* IQ4_XS */
        w.q = iq4[nibble(p + 8 + 16 * (k / 32), i)];
        w.scale =
            half_at(p) * (bits(p + 4, 4 * (k / 32), 4) + 16 * bits(p + 2, 2 * (k / 32), 2) - 32);
        break;
    }
    return w;
}

struct kc_weight kc_weight_at(enum qr_weight_type type, const uint8_t *row, size_t k)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    const uint8_t *p = row + k / info->block_elems * info->block_bytes;
    struct kc_weight w = { 0, 1, 0, 0 };
    if (info->block_elems == 1) {
        float f;
        uint16_t h;
        memcpy(&h, p, sizeof h);
        if (type == QR_WEIGHT_F32)
            memcpy(&f, p, sizeof f);
        else
            f = type == QR_WEIGHT_F16 ? kc_f16_value(h) : kc_bf16_value(h);
        w.value = (double)f;
        return w;
    }
    if (type >= QR_WEIGHT_FIRST_HF)
        return hf_weight(type, p, k % info->block_elems);
    w = info->block_elems == 32    ? block32(type, p, k % 32)
        : info->block_elems == 256 ? block256(type, p, k % 256)
                                   : block64(type, p, k % info->block_elems);
    w.value = (double)(float)(w.scale * w.q - w.min);
    return w;
}

int kc_sub_block(enum qr_weight_type type)
{
    if (qr_weight_type_info(type)->block_elems == 1)
        return 0;
    switch (type) {
    case QR_WEIGHT_Q2_K:
    case QR_WEIGHT_Q3_K:
    case QR_WEIGHT_Q6_K:
    case QR_WEIGHT_NVFP4:
    case QR_WEIGHT_IQ1_M:
    case QR_WEIGHT_IQ2_XS:
    case QR_WEIGHT_IQ2_S:
        return 16;
    default:
        return 32;
    }
}

bool kc_has_min(enum qr_weight_type type)
{
    return type == QR_WEIGHT_Q4_1 || type == QR_WEIGHT_Q5_1 || type == QR_WEIGHT_Q2_K ||
           type == QR_WEIGHT_Q4_K || type == QR_WEIGHT_Q5_K || type == QR_WEIGHT_IQ1_S ||
           (type >= QR_WEIGHT_INT4_32 && type <= QR_WEIGHT_INT8_128);
}

/* Offset of the f16 scale in a block; with minimums, theirs follows. */
static int half_offset(enum qr_weight_type type)
{
    return type == QR_WEIGHT_Q2_K    ? 80
           : type == QR_WEIGHT_Q3_K  ? 108
           : type == QR_WEIGHT_Q6_K  ? 208
           : type == QR_WEIGHT_TQ1_0 ? 52
           : type == QR_WEIGHT_TQ2_0 ? 64
                                     : 0;
}

static void set_half(uint8_t *p, uint16_t h) { memcpy(p, &h, sizeof h); }

/* Sets the f16 scale of a block. That of IQ1_M is in the high nibbles of four words. */
static void set_scale(enum qr_weight_type type, uint8_t *block, uint16_t h)
{
    if (type != QR_WEIGHT_IQ1_M) {
        set_half(block + half_offset(type), h);
        return;
    }
    for (int i = 0; i < 4; i++) {
        uint8_t *high = block + 48 + 2 * i + 1;
        *high = (uint8_t)((*high & 15) | (h >> (4 * i) & 15) << 4);
    }
}

static uint16_t random_half(struct kc_env *env)
{
    switch (kc_int(env, 0, 15)) {
    case 0:
        return (uint16_t)kc_int(env, 0, 1023); /* denormal or zero */
    case 1:
        return 0x8000;
    default:
        return kc_f16_bits(kc_normal(env) * 0.01f);
    }
}

/* Sets the scale of a block: of usual size, with f16 precision, 0 or a denormal of f16. Makes NaNs
 * among E4M3 codes zero. */
static void set_hf_scale(struct kc_env *env, enum qr_weight_type type,
                         const struct qr_weight_type_info *info, uint8_t *block)
{
    float d = kc_normal(env) * 0.01f;
    if (kc_int(env, 0, 1))
        d = kc_f16_value(random_half(env));
    memcpy(block, &d, sizeof d);
    if (type == QR_WEIGHT_F8_E4M3_32 || type == QR_WEIGHT_F8_E4M3_128)
        for (size_t i = 4; i < info->block_bytes; i++)
            block[i] = (block[i] & 127) == 127 ? 0 : block[i];
}

void kc_random_row(struct kc_env *env, enum qr_weight_type type, size_t k, uint8_t *row)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    /* of eight rows one has all bits 0, one all bits 1, and one the smallest MXFP4 exponents */
    const int extreme = kc_int(env, 0, 7);
    for (size_t b = 0; b < k / info->block_elems; b++, row += info->block_bytes) {
        const float f = kc_normal(env);
        for (size_t i = 0; i < info->block_bytes; i++)
            row[i] = extreme == 0 ? 0 : extreme == 1 ? 255 : (uint8_t)kc_u32(env);
        if (type == QR_WEIGHT_F32)
            memcpy(row, &f, sizeof f);
        else if (info->block_elems == 1)
            set_half(row, type == QR_WEIGHT_F16 ? kc_f16_bits(f) : kc_bf16_bits(f));
        else if (type >= QR_WEIGHT_FIRST_HF)
            set_hf_scale(env, type, info, row);
        else if (type == QR_WEIGHT_MXFP4)
            row[0] = (uint8_t)(extreme == 2 ? kc_int(env, 0, 3) : kc_int(env, 110, 140));
        else if (type != QR_WEIGHT_NVFP4) {
            set_scale(type, row, random_half(env));
            if (kc_has_min(type) && type != QR_WEIGHT_IQ1_S)
                set_half(row + half_offset(type) + 2, random_half(env));
        }
    }
}

void kc_poison_row(enum qr_weight_type type, size_t k, uint8_t *row)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    const float nan = NAN;
    for (size_t b = 0; b < k / info->block_elems; b++, row += info->block_bytes) {
        if (type == QR_WEIGHT_F32)
            memcpy(row, &nan, sizeof nan);
        else if (type >= QR_WEIGHT_FIRST_HF)
            memcpy(row, &nan, sizeof nan);
        else if (type == QR_WEIGHT_MXFP4)
            row[0] = 255; /* has no NaN; 2^127 makes the outputs overflow */
        else if (type == QR_WEIGHT_NVFP4)
            memset(row, 255, 4); /* has no NaN; the largest scale */
        else
            set_scale(type, row, type == QR_WEIGHT_BF16 ? 0x7fc0 : 0x7e00);
    }
}
