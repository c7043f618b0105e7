/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - online softmax of a tile, and the merge of spans, in plain C. */
#include "base/half.h"
#include "generic/fma.h"
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>

static const float log2e = 0x1.715476p0f;

/* (2^f - 1) / f on [-1/2, 1/2]: the polynomial and the roundings of simd/vec_math.h. */
static float exp2_slope(float f)
{
    static const float c[] = { 0x1.5f0a66p-10f, 0x1.3b30b0p-7f, 0x1.c6af78p-5f, 0x1.ebfbd8p-3f,
                               0x1.62e430p-1f };
    float g = 0x1.3f906cp-13f;
    for (int i = 0; i < 5; i++)
        g = qr_fmaf(g, f, c[i]);
    return g;
}

static float power_of_two(int n) { return qr_bits_to_f32((uint32_t)(n + 127) << 23); }

/* 2^x for x < 127; 0 below -125, NaN for NaN. */
static float exp2_own(float x)
{
    if (x < -125.0f)
        return 0;
    if (!(x < 127.0f))
        return NAN; /* only with NaN or infinite scores */
    const float n = rintf(x), f = x - n;
    return qr_fmaf(f, exp2_slope(f), 1) * power_of_two((int)n);
}

static float tanh_own(float x)
{
    if (isnan(x))
        return x;
    const float y = fminf(fabsf(x), 10) * (2 * log2e), n = rintf(y), f = y - n;
    const float s = power_of_two((int)n), u = qr_fmaf(s, f * exp2_slope(f), s - 1);
    return copysignf(u / (u + 2), x);
}

static float score(const struct qr_attn_softmax_args *a, int r, int key)
{
    const float f = a->row_scale ? a->scale * a->row_scale[r] : a->scale;
    float x = a->s[(size_t)r * QR_TILE_KEYS + (size_t)key];
    if (a->k_scale)
        x *= a->k_scale[key];
    if (a->soft_cap > 0)
        x = tanh_own(x * (f / a->soft_cap)) * (a->soft_cap * log2e);
    else
        x *= f * log2e;
    if (a->slope)
        x = qr_fmaf(a->slope[r] * log2e, (float)a->distance[r] + (float)key, x);
    if (a->bias)
        x = qr_fmaf(a->bias[r][key], log2e, x);
    return x;
}

/* Raises the reference maximum of the row, and rescales its state, if x_max exceeds it by more than
 * QR_RESCALE_STEP. */
static void raise_max(const struct qr_attn_softmax_args *a, int r, float x_max)
{
    if (!(x_max > a->m[r] + QR_RESCALE_STEP))
        return;
    const float c = exp2_own(a->m[r] - x_max);
    a->m[r] = x_max;
    for (size_t i = (size_t)r * QR_COLUMN_KEYS; i < (size_t)(r + 1) * QR_COLUMN_KEYS; i++) {
        a->l[i] *= c;
        if (a->l_exact)
            a->l_exact[i] *= c;
    }
    for (size_t d = 0; d < (size_t)a->o_width; d++)
        a->o[(size_t)r * a->o_stride + d] *= c;
}

/* Stores the weight of a key; returns the stored value. */
static float store_weight(const struct qr_attn_softmax_args *a, size_t i, float p)
{
    if (!a->p_bf16)
        return a->s[i] = p;
    a->p_bf16[i] = qr_f32_to_bf16(p);
    return qr_bf16_to_f32(a->p_bf16[i]);
}

void qr_attn_softmax_generic(const struct qr_attn_softmax_args *a)
{
    for (int r = 0; r < a->n_rows; r++) {
        const uint64_t visible = a->visible[r];
        float x[QR_TILE_KEYS], x_max = -INFINITY;
        if (!visible)
            continue;
        for (int key = 0; key < QR_TILE_KEYS; key++) {
            x[key] = visible >> key & 1 ? score(a, r, key) : -INFINITY;
            x_max = x[key] > x_max ? x[key] : x_max;
        }
        raise_max(a, r, x_max);
        const float m =
            a->m[r] == -INFINITY ? 0 : a->m[r]; /* all scores so far are -inf: weights 0 */
        for (int key = 0; key < QR_TILE_KEYS; key++) {
            const bool seen = visible >> key & 1;
            const float p = seen ? exp2_own(x[key] - m) : 0;
            const size_t lane = (size_t)r * QR_COLUMN_KEYS + (size_t)(key % QR_COLUMN_KEYS);
            const float factor = a->v_scale && seen ? a->v_scale[key] : 1;
            const float weight = a->v_scale && p * factor < 0x1p-126f ? 0 : p * factor;
            const float stored = store_weight(a, (size_t)r * QR_TILE_KEYS + (size_t)key, weight);
            if (a->l_exact)
                a->l_exact[lane] += p;
            a->l[lane] += a->v_scale ? p : stored;
        }
    }
}

void qr_attn_merge_generic(const struct qr_attn_merge_args *a)
{
    for (int r = 0; r < a->n_rows; r++) {
        float *acc = a->acc_o + (size_t)r * a->stride;
        const float *part = a->part_o + (size_t)r * a->stride;
        if (a->part_l[r] == 0)
            continue;
        if (a->acc_l[r] == 0) {
            a->acc_m[r] = a->part_m[r];
            a->acc_l[r] = a->part_l[r];
            if (a->acc_l_exact)
                a->acc_l_exact[r] = a->part_l_exact[r];
            memcpy(acc, part, (size_t)a->width * sizeof *acc);
            continue;
        }
        const float m = a->acc_m[r] > a->part_m[r] ? a->acc_m[r] : a->part_m[r];
        const float ca = exp2_own(a->acc_m[r] - m), cp = exp2_own(a->part_m[r] - m);
        a->acc_m[r] = m;
        a->acc_l[r] = qr_fmaf(a->part_l[r], cp, a->acc_l[r] * ca);
        if (a->acc_l_exact)
            a->acc_l_exact[r] = qr_fmaf(a->part_l_exact[r], cp, a->acc_l_exact[r] * ca);
        for (int d = 0; d < a->width; d++)
            acc[d] = qr_fmaf(part[d], cp, acc[d] * ca);
    }
}
