/* SPDX-License-Identifier: Apache-2.0 */
/* bench_weights.c - random weights: random bytes, in which the scales are then set right. */
#include "bench_weights.h"
#include "bench_stats.h"
#include "base/weight_type.h"
#include "base/half.h"
#include <string.h>
#include <strings.h>

bool bench_weight_type(const char *name, uint32_t *type)
{
    for (*type = 0; *type < 64; ++*type) {
        const struct qr_weight_type_info *info = qr_weight_type_info(*type);
        if (info && info->supported && !strcasecmp(info->name, name))
            return true;
    }
    return false;
}

/* Blocks of quantised types: where the f16 scales lie, the standard deviation of a block whose d is 1, and what d is
 * multiplied with to give the minimum that centres the codes (0 = the type has none). */
static const struct block {
    uint8_t d_at, m_at;
    float deviation, centre;
} blocks[] = {
    [QR_WEIGHT_Q4_0] = { 0, 0, 4.6f, 0 },
    [QR_WEIGHT_Q4_1] = { 0, 2, 4.6f, -7.5f },
    [QR_WEIGHT_Q5_0] = { 0, 0, 9.2f, 0 },
    [QR_WEIGHT_Q5_1] = { 0, 2, 9.2f, -15.5f },
    [QR_WEIGHT_Q8_0] = { 0, 0, 73.6f, 0 },
    [QR_WEIGHT_Q2_K] = { 80, 82, 1.12f * 11.7f, 1.5f },
    [QR_WEIGHT_Q3_K] = { 108, 0, 2.35f * 18.5f, 0 },
    [QR_WEIGHT_Q4_K] = { 0, 2, 4.6f * 48.4f, 7.5f },
    [QR_WEIGHT_Q5_K] = { 0, 2, 9.2f * 48.4f, 15.5f },
    [QR_WEIGHT_Q6_K] = { 208, 0, 18.5f * 73.9f, 0 },
    [QR_WEIGHT_IQ3_XXS] = { 0, 0, 30.8f * 4.62f, 0 },
    [QR_WEIGHT_IQ3_S] = { 0, 0, 7.59f * 18.5f, 0 },
    [QR_WEIGHT_IQ4_NL] = { 0, 0, 70.3f, 0 },
    [QR_WEIGHT_IQ4_XS] = { 0, 0, 70.3f * 18.5f, 0 },
};

/* Nearest f16 of a finite value; ties away from zero are good enough here. */
static uint16_t to_f16(float f)
{
    const uint32_t bits = qr_f32_to_bits(f), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude < 0x38800000) /* below 2^-14: subnormal */
        return (uint16_t)(sign | (uint32_t)(qr_bits_to_f32(magnitude) * 0x1p24f + 0.5f));
    return (uint16_t)(sign | (((magnitude + 0x1000) >> 13) - (112u << 10)));
}

/* Six-bit scales and equal minimums of eight sub-blocks, packed as Q4_K and Q5_K do: the lower four in six bits each,
 * the upper four with their low nibbles together and their two high bits on top of the lower ones. */
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

static void set_scales(uint32_t type, uint8_t *block, float deviation, uint64_t *rng)
{
    const float vary = 1 + 0.25f * bench_random_float(rng);
    if (type ==
        QR_WEIGHT_MXFP4) { /* one power of two; the codes' deviation is 5.85 at exponent 128 */
        const float target = deviation / 5.85f * vary;
        block[0] = (uint8_t)((qr_f32_to_bits(target) >> 23) + 1);
        return;
    }
    const struct block b = blocks[type];
    const float d = deviation / b.deviation * vary;
    const uint16_t d16 = to_f16(d), m16 = to_f16(qr_f16_to_f32(d16) * b.centre);
    memcpy(block + b.d_at, &d16, sizeof d16);
    if (b.centre != 0)
        memcpy(block + b.m_at, &m16, sizeof m16);
    if (type == QR_WEIGHT_Q4_K || type == QR_WEIGHT_Q5_K)
        pack_k_scales(block + 4, rng);
    if (type == QR_WEIGHT_Q2_K)
        for (int i = 0; i < 16; i++)
            block[i] = (uint8_t)((8 | (block[i] & 7)) * 0x11);
    if (type == QR_WEIGHT_Q8_0) /* no quantiser makes -128 */
        for (int i = 2; i < 34; i++)
            block[i] = block[i] == 0x80 ? 0x81 : block[i];
}

static void fill_floats(uint32_t type, uint8_t *raw, size_t n, float deviation, uint64_t *rng)
{
    const float scale = deviation * 1.7320508f; /* of a uniform distribution */
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
