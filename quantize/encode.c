/* SPDX-License-Identifier: Apache-2.0 */
#include "encode.h"
#include "base/half.h"
#include "base/weight_type.h"
#include "encode_block.h"
#include <math.h>
#include <string.h>

typedef void encoder(const float *x, const float *w, uint8_t *out);

static encoder *encoder_of(uint32_t type)
{
    switch ((enum qr_weight_type)type) {
    case QR_WEIGHT_Q8_0:
        return encode_q8_0;
    case QR_WEIGHT_Q4_0:
        return encode_q4_0;
    case QR_WEIGHT_Q4_K:
        return encode_q4_k;
    case QR_WEIGHT_Q5_K:
        return encode_q5_k;
    case QR_WEIGHT_Q6_K:
        return encode_q6_k;
    case QR_WEIGHT_IQ4_NL:
        return encode_iq4_nl;
    case QR_WEIGHT_IQ4_XS:
        return encode_iq4_xs;
    case QR_WEIGHT_MXFP4:
        return encode_mxfp4;
    default:
        return NULL;
    }
}

static bool is_float(uint32_t type)
{
    return type == QR_WEIGHT_F32 || type == QR_WEIGHT_F16 || type == QR_WEIGHT_BF16;
}

bool encode_supports(uint32_t type) { return is_float(type) || encoder_of(type) != NULL; }

uint16_t encode_f16(float f)
{
    const uint16_t sign = signbit(f) ? 0x8000 : 0;
    const float a = fabsf(f);
    if (a >= 65504)
        return sign | 0x7bff;
    if (a < 0x1p-14f) /* a multiple of 2^-24; 1024 of them are the smallest normal number */
        return sign | (uint16_t)lrintf(a * 0x1p24f);
    const uint32_t bits = qr_f32_to_bits(a), half = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
    const uint32_t code = half - (112u << 10);
    return sign | (uint16_t)(code > 0x7bff ? 0x7bff : code);
}

float encode_round_f16(float f) { return qr_f16_to_f32(encode_f16(f)); }

static void encode_floats(uint32_t type, const float *x, size_t k, uint8_t *out)
{
    if (type == QR_WEIGHT_F32) {
        memcpy(out, x, k * sizeof *x);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        const uint16_t h = type == QR_WEIGHT_F16 ? encode_f16(x[i]) : qr_f32_to_bf16(x[i]);
        memcpy(out + i * sizeof h, &h, sizeof h);
    }
}

/* Weights of a block whose importance is all 0 would leave it undetermined. */
static const float *weights_of(const float *importance, size_t n, float *ones)
{
    float sum = 0;
    for (size_t i = 0; importance && i < n; i++)
        sum += importance[i];
    if (sum > 0)
        return importance;
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    return ones;
}

void encode_row(uint32_t type, const float *x, size_t k, const float *importance, void *out)
{
    if (is_float(type)) {
        encode_floats(type, x, k, out);
        return;
    }
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    encoder *const encode = encoder_of(type);
    float ones[SUPER_BLOCK];
    for (size_t i = 0; i < k; i += info->block_elems) {
        const float *w = weights_of(importance ? importance + i : NULL, info->block_elems, ones);
        encode(x + i, w, (uint8_t *)out + i / info->block_elems * info->block_bytes);
    }
}
