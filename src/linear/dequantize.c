/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize.c - reference dequantization of weights. */
#include "linear/dequantize.h"
#include "base/half.h"
#include "base/weight_type.h"
#include "linear/group_decode.h"
#include "linear/panel_format.h"
#include <string.h>

static const uint8_t code_luts[][16] = {
    [QR_LUT_IQ4] = { QR_IQ4_BYTES },         [QR_LUT_MXFP4] = { QR_MXFP4_BYTES },
    [QR_LUT_IQ3_XXS] = { QR_IQ3_XXS_BYTES }, [QR_LUT_IQ3_S] = { QR_IQ3_S_BYTES },
    [QR_LUT_IQ2] = { QR_IQ2_BYTES },
};

/* A value is scale * number - min. Scale, min and the product scale * number are exact in f32, and
 * only the subtraction of the minimum rounds; with f32 scales the products round too. */
struct sub_block {
    float scale, min;
};

static struct sub_block sub_block(struct qr_panel_format f, const struct qr_group *g, size_t i)
{
    struct sub_block s = { 0, 0 };
    switch ((enum qr_scale_kind)f.scales) {
    case QR_SCALE_D:
    case QR_SCALE_D64:
    case QR_SCALE_D128:
    case QR_SCALE_D256:
        s.scale = qr_f16_to_f32(g->d[i / qr_panel_blocks_per_d(f)]);
        break;
    case QR_SCALE_E4M3:
        s.scale = qr_e4m3_half_to_f32(g->scale[i]);
        break;
    case QR_SCALE_DM:
        s.scale = qr_f16_to_f32(g->d[i]);
        s.min = -qr_f16_to_f32(g->m[i]);
        break;
    case QR_SCALE_E8M0:
        s.scale = qr_e8m0_half_to_f32(g->scale[i]);
        break;
    case QR_SCALE_K8_MIN:
    case QR_SCALE_K16_MIN:
        s.scale = qr_f16_to_f32(g->d[0]) * g->scale[i];
        s.min = qr_f16_to_f32(g->m[0]) * g->min[i];
        break;
    case QR_SCALE_K8:
    case QR_SCALE_K16:
        s.scale = qr_f16_to_f32(g->d[0]) * (int8_t)g->scale[i];
        break;
    case QR_SCALE_K8_HALF:
        s.scale = qr_f16_to_f32(g->d[0]) * (int8_t)g->scale[i] * 0.5f;
        break;
    case QR_SCALE_N8:
    case QR_SCALE_N16:
    case QR_SCALE_N16_DELTA:
        s.scale = qr_f16_to_f32(g->d[0]) * (float)(2 * g->scale[i] + 1) * 0.125f;
        break;
    case QR_SCALE_N8_DELTA:
        s.scale = qr_f16_to_f32(g->d[0]) * (float)(2 * (g->scale[i] & 7) + 1);
        s.min = s.scale * (g->scale[i] & 8 ? 1.125f : 0.875f);
        break;
    case QR_SCALE_F32_32:
    case QR_SCALE_F32_64:
    case QR_SCALE_F32_128:
    case QR_SCALE_Z_32:
    case QR_SCALE_Z_64:
    case QR_SCALE_Z_128:
        i /= qr_panel_blocks_per_f32(f);
        s.scale = qr_bits_to_f32(g->f[i]);
        s.min = qr_panel_has_zero(f) ? s.scale * (int8_t)g->min[i] : 0;
        break;
    }
    return s;
}

/* The number of a code of floating-point weights. */
static float float_code(struct qr_panel_format f, uint8_t code)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    return f.lut == QR_LUT_E4M3 ? qr_e4m3_to_f32(code) : nf4[code];
}

void qr_group_dequantize(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks,
                         float *out)
{
    const size_t sub = qr_panel_sub16(f) ? 16 : 32;
    const bool is_float = qr_panel_is_float(f);
    const uint8_t *lut = f.lut == QR_LUT_NONE || is_float ? NULL : code_luts[f.lut];
    for (size_t k0 = 0; k0 < n_blocks * QR_BLOCK_K; k0 += sub) {
        const struct sub_block s = sub_block(f, g, k0 / sub);
        for (size_t k = k0; k < k0 + sub; k++) {
            int code = lut ? lut[g->code[k]] : g->code[k];
            if (qr_panel_has_delta(f))
                code = 8 * (code & 3) + (code & 4 ? 7 : 9);
            const float v =
                s.scale * (is_float ? float_code(f, g->code[k]) : (float)(code - f.offset));
            out[k] = qr_panel_has_min(f) ? v - s.min : v;
        }
    }
}

void qr_weight_dequantize(uint32_t type, const void *raw, size_t k, float *out)
{
    const uint8_t *p = raw;
    const struct qr_panel_format *f = qr_weight_panel_format(type);
    if (f) {
        struct qr_group g;
        while (k > 0) {
            const size_t nb = (k < QR_GROUP_K ? k : QR_GROUP_K) / QR_BLOCK_K;
            qr_group_decode(type, p, nb, &g);
            qr_group_dequantize(*f, &g, nb, out);
            p += qr_group_raw_bytes(type, nb);
            out += nb * QR_BLOCK_K;
            k -= nb * QR_BLOCK_K;
        }
        return;
    }
    if (type == QR_WEIGHT_F32) {
        memcpy(out, p, k * sizeof *out);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        uint16_t h;
        memcpy(&h, p + i * sizeof h, sizeof h);
        out[i] = type == QR_WEIGHT_F16 ? qr_f16_to_f32(h) : qr_bf16_to_f32(h);
    }
}
