/* SPDX-License-Identifier: Apache-2.0 */
/* attn_int4.c - attention over int4 tiles in plain C, one element at a time. */
#include "base/half.h"
#include "base/msan.h"
#include "generic/fma.h"
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { GROUP = QR_INT4_GROUP, KEYS = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS };

void qr_attn_quantize_q_int4_generic(uint8_t *dst, const float *src, size_t n)
{
    for (size_t g = 0; g < n / GROUP; g++) {
        const float *x = src + g * GROUP;
        float amax = 0, scale = NAN, inverse = 0;
        int32_t sum = 0;
        bool finite = true;
        for (int i = 0; i < GROUP; i++) {
            finite &= isfinite(x[i]) != 0;
            amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
        }
        if (finite)
            scale = amax < 0x1p-100f ? 0 : amax / 127;
        if (scale > 0)
            inverse = 127 / amax;
        for (int i = 0; i < GROUP; i++) {
            const int8_t code = scale > 0 ? (int8_t)rintf(x[i] * inverse) : 0;
            memcpy(dst + g * GROUP + i, &code, 1);
            sum += code;
        }
        const int32_t offset = -QR_INT4_BIAS * sum;
        memcpy(dst + n + g * sizeof scale, &scale, sizeof scale);
        memcpy(dst + n + n / GROUP * sizeof scale + g * sizeof offset, &offset, sizeof offset);
    }
}

/* Level of value `d` of a token, plus QR_INT4_BIAS. */
static int level_of(uint8_t byte, size_t d)
{
    static const uint8_t levels[] = QR_INT4_LEVELS;
    return levels[byte >> (d % GROUP / 16 * 4) & 15];
}

/* Index of the byte of value d in a row of codes. */
static size_t byte_of(size_t d) { return d / GROUP * 16 + d % 16; }

QR_MSAN_IGNORED static int k_level(const uint8_t *column, size_t stride, size_t token, size_t d)
{
    const size_t b = byte_of(d);
    return level_of(column[b / 4 * stride + token * 4 + b % 4], d);
}

QR_MSAN_IGNORED static int v_level(const uint8_t *column, size_t stride, size_t token, size_t d)
{
    return level_of(column[token / 4 * stride + byte_of(d) * 4 + token % 4], d);
}

QR_MSAN_IGNORED static float scale_of(const uint16_t *column, size_t stride, size_t token, size_t g)
{
    uint16_t bits;
    memcpy(&bits, (const uint8_t *)column + g * stride + token * sizeof bits, sizeof bits);
    return qr_bf16_to_f32(bits);
}

static float score(const uint8_t *q, size_t n, const struct qr_attn_qk_args *a, int c, size_t token)
{
    float s = 0;
    for (size_t g = 0; g < n / GROUP; g++) {
        float q_scale;
        int32_t sum;
        memcpy(&q_scale, q + n + g * sizeof q_scale, sizeof q_scale);
        memcpy(&sum, q + n + (n / GROUP + g) * sizeof sum, sizeof sum);
        for (size_t d = g * GROUP; d < (g + 1) * GROUP; d++) {
            int8_t code;
            memcpy(&code, q + d, 1);
            sum += code * k_level(a->k[c], a->k_stride, token, d);
        }
        s = qr_fmaf((float)sum, q_scale * scale_of(a->k_scale[c], a->k_scale_stride, token, g), s);
    }
    return s;
}

void qr_attn_qk_int4_generic(const struct qr_attn_qk_args *a)
{
    const size_t n = (size_t)a->head_size;
    for (int r = 0; r < a->n_rows; r++)
        for (int key = 0; key < KEYS; key++)
            if (a->k[key / COLUMN])
                a->s[r * KEYS + key] =
                    score((const uint8_t *)a->q + (size_t)r * qr_int4_query_bytes(n), n, a,
                          key / COLUMN, (size_t)(key % COLUMN));
}

/* Weights of a row for one group of values, in 8 bits. Returns the factor of their products. */
static float round_weights(const struct qr_attn_pv_args *a, int r, size_t g, uint8_t codes[KEYS])
{
    const float *p = (const float *)a->p + r * KEYS;
    float w[KEYS], most = 0;
    bool finite = true;
    for (int t = 0; t < KEYS; t++) {
        const int c = t / COLUMN;
        w[t] = 0;
        if (a->visible[r] >> t & 1)
            w[t] = p[t] * scale_of(a->v_scale[c], a->v_scale_stride, (size_t)(t % COLUMN), g);
        finite &= isfinite(w[t]) != 0;
        most = w[t] > most ? w[t] : most;
    }
    memset(codes, 0, KEYS);
    if (!finite || most < 0x1p-100f)
        return finite ? 0 : NAN;
    const float inverse = 255 / most;
    for (int t = 0; t < KEYS; t++)
        codes[t] = (uint8_t)rintf(w[t] * inverse);
    return most / 255;
}

void qr_attn_pv_int4_generic(const struct qr_attn_pv_args *a)
{
    for (int r = 0; r < a->n_rows; r++)
        for (size_t g = 0; a->visible[r] && g < (size_t)a->v_head_size / GROUP; g++) {
            float *o = a->o + (size_t)r * a->o_stride;
            uint8_t w[KEYS];
            const float factor = round_weights(a, r, g, w);
            for (size_t d = g * GROUP; d < (g + 1) * GROUP; d++) {
                int32_t sum = 0;
                for (int t = 0; t < KEYS; t++)
                    if (a->v[t / COLUMN])
                        sum += w[t] *
                               (v_level(a->v[t / COLUMN], a->v_stride, (size_t)(t % COLUMN), d) -
                                QR_INT4_BIAS);
                o[d] = qr_fmaf((float)sum, factor, o[d]);
            }
        }
}

void qr_attn_unpack_int4_generic(const struct qr_attn_unpack_int4_args *a)
{
    for (size_t d = 0; d < (size_t)a->n_values; d++)
        for (size_t t = 0; t < COLUMN; t++) {
            const int level =
                a->v ? v_level(a->src, a->src_stride, t, d) : k_level(a->src, a->src_stride, t, d);
            const float scale = scale_of(a->scale, a->scale_stride, t, d / GROUP);
            const uint16_t bits = qr_f32_to_bf16((float)(level - QR_INT4_BIAS) * scale); /* exact */
            if (a->v)
                a->dst[t / 2 * a->dst_stride + d * 2 + t % 2] = bits;
            else
                a->dst[d / 2 * a->dst_stride + t * 2 + d % 2] = bits;
        }
}
