/* SPDX-License-Identifier: Apache-2.0 */
/* bench_weights.c - random weights: random bytes, with the block scales overwritten by valid
 * ones. */
#include "bench_weights.h"
#include "base/half.h"
#include "base/weight_type.h"
#include "bench_stats.h"
#include <string.h>
#include <strings.h>

/* What bench adds to the library's list of weight types; an entry for each supported type.
 *   d_at, m_at  byte offsets of the f16 scale d and the f16 minimum in a block
 *   deviation   standard deviation of a block with d = 1; 0: not a block type with an f16 scale
 *   center      minimum / d that centers the codes on 0; 0: the type has no minimum */
static const struct recipe {
    uint8_t file_type; /* LLAMA_FTYPE_MOSTLY_* of llama.cpp */
    uint8_t d_at, m_at;
    float deviation, center;
} recipes[] = {
    [QR_WEIGHT_F32] = { 0, 0, 0, 0, 0 },
    [QR_WEIGHT_F16] = { 1, 0, 0, 0, 0 },
    [QR_WEIGHT_Q4_0] = { 2, 0, 0, 4.6f, 0 },
    [QR_WEIGHT_Q4_1] = { 3, 0, 2, 4.6f, -7.5f },
    [QR_WEIGHT_Q5_0] = { 8, 0, 0, 9.2f, 0 },
    [QR_WEIGHT_Q5_1] = { 9, 0, 2, 9.2f, -15.5f },
    [QR_WEIGHT_Q8_0] = { 7, 0, 0, 73.6f, 0 },
    [QR_WEIGHT_Q2_K] = { 10, 80, 82, 1.12f * 11.7f, 1.5f },
    [QR_WEIGHT_Q3_K] = { 11, 108, 0, 2.35f * 18.5f, 0 },
    [QR_WEIGHT_Q4_K] = { 14, 0, 2, 4.6f * 48.4f, 7.5f },
    [QR_WEIGHT_Q5_K] = { 16, 0, 2, 9.2f * 48.4f, 15.5f },
    [QR_WEIGHT_Q6_K] = { 18, 208, 0, 18.5f * 73.9f, 0 },
    [QR_WEIGHT_IQ3_XXS] = { 23, 0, 0, 30.8f * 4.62f, 0 },
    [QR_WEIGHT_IQ3_S] = { 26, 0, 0, 7.59f * 18.5f, 0 },
    [QR_WEIGHT_IQ4_NL] = { 25, 0, 0, 70.3f, 0 },
    [QR_WEIGHT_IQ4_XS] = { 30, 0, 0, 70.3f * 18.5f, 0 },
    [QR_WEIGHT_BF16] = { 32, 0, 0, 0, 0 },
    [QR_WEIGHT_IQ2_XXS] = { 19, 0, 0, 23.1f * 2.31f, 0 },
    [QR_WEIGHT_IQ2_XS] = { 20, 0, 0, 24.2f * 2.31f, 0 },
    [QR_WEIGHT_IQ2_S] = { 28, 0, 0, 24.4f * 2.31f, 0 },
    [QR_WEIGHT_IQ1_S] = { 24, 0, 0, 0.781f * 9.22f, 0 },
    [QR_WEIGHT_IQ1_M] = { 31, 0, 0, 0.781f * 9.22f, 0 },
    [QR_WEIGHT_TQ1_0] = { 36, 52, 0, 0.816f, 0 },
    [QR_WEIGHT_TQ2_0] = { 37, 64, 0, 0.707f, 0 },
    [QR_WEIGHT_Q1_0] = { 40, 0, 0, 1, 0 },
    [QR_WEIGHT_Q2_0] = { 41, 0, 0, 0.707f, 0 },
    [QR_WEIGHT_MXFP4] = { 38, 0, 0, 0, 0 },
    [QR_WEIGHT_NVFP4] = { 39, 0, 0, 0, 0 },
};
enum { N_NUMBERS = sizeof recipes / sizeof *recipes };

bool bench_weight_type_get(unsigned i, struct bench_weight_type *out)
{
    for (uint32_t number = 0; number < N_NUMBERS; number++) {
        const struct qr_weight_type_info *info = qr_weight_type_info(number);
        if (!info || !info->supported || i-- != 0)
            continue;
        *out = (struct bench_weight_type){ info->name, number, recipes[number].file_type,
                                           info->block_elems, info->block_bytes };
        return true;
    }
    return false;
}

bool bench_weight_type_find(const char *name, struct bench_weight_type *out)
{
    for (unsigned i = 0; bench_weight_type_get(i, out); i++)
        if (!strcasecmp(out->name, name))
            return true;
    return false;
}

/* Rounds a finite value to f16, ties away from zero. */
static uint16_t to_f16(float f)
{
    const uint32_t bits = qr_f32_to_bits(f), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude < 0x38800000) /* below 2^-14: subnormal */
        return (uint16_t)(sign | (uint32_t)(qr_bits_to_f32(magnitude) * 0x1p24f + 0.5f));
    return (uint16_t)(sign | (((magnitude + 0x1000) >> 13) - (112u << 10)));
}

/* Packs 6-bit scales, and minimums equal to them, of eight sub-blocks in the format of Q4_K and
 * Q5_K: scales 0..3 in bits 0-5 of a byte; scales 4..7 as low nibbles, with their two high bits
 * in bits 6-7 of the bytes of scales 0..3. */
static void pack_k_scales(uint8_t *out, uint64_t *rng)
{
    uint8_t scale[8];
    for (int i = 0; i < 8; i++)
        scale[i] = (uint8_t)(32 + (bench_random(rng) >> 59));
    for (int i = 0; i < 4; i++) {
        const uint8_t high = (uint8_t)(scale[4 + i] >> 4 << 6);
        out[i] = out[4 + i] = scale[i] | high;
        out[8 + i] = (uint8_t)((scale[4 + i] & 15) * 0x11);
    }
}

/* Rounds a positive value to E4M3, at least to its smallest one. */
static uint8_t to_e4m3(float f)
{
    const uint32_t steps = (uint32_t)(f * 512 + 0.5f); /* of the subnormal values */
    if (steps < 8)
        return (uint8_t)(steps ? steps : 1);
    return (uint8_t)((qr_f32_to_bits(f) + (1u << 19)) >> 20) - (uint8_t)((127 - 7) << 3);
}

/* Changes the two-bit codes 3, which quantizers of ternary types do not produce, to 1. */
static void clear_code_3(uint8_t *q, size_t n)
{
    for (size_t i = 0; i < n; i++)
        q[i] ^= (uint8_t)((q[i] >> 1 & q[i] & 0x55) << 1);
}

/* The scale of IQ1_M is in the high nibbles of four words. */
static void spread_nibbles(uint8_t *words, uint16_t d)
{
    for (int i = 0; i < 4; i++)
        words[2 * i + 1] = (uint8_t)((words[2 * i + 1] & 15) | (d >> (4 * i) & 15) << 4);
}

static void set_scales(uint32_t type, uint8_t *block, float deviation, uint64_t *rng)
{
    const float vary = 1 + 0.25f * bench_random_float(rng);
    if (type == QR_WEIGHT_MXFP4) { /* E8M0 scale; the codes have deviation 5.85 at exponent 128 */
        const float target = deviation / 5.85f * vary;
        block[0] = (uint8_t)((qr_f32_to_bits(target) >> 23) + 1);
        return;
    }
    if (type == QR_WEIGHT_NVFP4) { /* E4M3 scales of codes of deviation 2.92 */
        for (int i = 0; i < 4; i++)
            block[i] = to_e4m3(deviation / 2.92f * vary);
        return;
    }
    const struct recipe r = recipes[type];
    const float d = deviation / r.deviation * vary;
    const uint16_t d16 = to_f16(d), m16 = to_f16(qr_f16_to_f32(d16) * r.center);
    if (type == QR_WEIGHT_IQ1_M)
        spread_nibbles(block + 48, d16);
    else
        memcpy(block + r.d_at, &d16, sizeof d16);
    if (type == QR_WEIGHT_TQ2_0)
        clear_code_3(block, 64);
    if (type == QR_WEIGHT_Q2_0)
        clear_code_3(block + 2, 16);
    if (r.center != 0)
        memcpy(block + r.m_at, &m16, sizeof m16);
    if (type == QR_WEIGHT_Q4_K || type == QR_WEIGHT_Q5_K)
        pack_k_scales(block + 4, rng);
    if (type == QR_WEIGHT_Q2_K)
        for (int i = 0; i < 16; i++)
            block[i] = (uint8_t)((8 | (block[i] & 7)) * 0x11);
    if (type == QR_WEIGHT_Q8_0) /* quantizers do not produce -128 */
        for (int i = 2; i < 34; i++)
            block[i] = block[i] == 0x80 ? 0x81 : block[i];
}

static void fill_floats(uint32_t type, uint8_t *raw, size_t n, float deviation, uint64_t *rng)
{
    const float scale = deviation * 1.7320508f; /* sqrt(3): uniform distribution */
    for (size_t i = 0; i < n; i++) {
        const float f = scale * bench_random_float(rng);
        const uint16_t half = type == QR_WEIGHT_F16 ? to_f16(f) : qr_f32_to_bf16(f);
        if (type == QR_WEIGHT_F32)
            memcpy(raw + 4 * i, &f, sizeof f);
        else
            memcpy(raw + 2 * i, &half, sizeof half);
    }
}

void bench_weights_fill(uint32_t type, uint8_t *raw, size_t n, float deviation, uint64_t *rng)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    if (info->block_elems == 1) {
        fill_floats(type, raw, n, deviation, rng);
        return;
    }
    const size_t n_blocks = n / info->block_elems, bytes = n_blocks * info->block_bytes;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        const uint64_t r = bench_random(rng);
        memcpy(raw + i, &r, sizeof r);
    }
    for (; i < bytes; i++)
        raw[i] = (uint8_t)(bench_random(rng) >> 56);
    for (size_t b = 0; b < n_blocks; b++)
        set_scales(type, raw + b * info->block_bytes, deviation, rng);
}
