/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - row-wise kernels in plain C: the reference of the vector levels. */
#include "kernels/kernels.h"
#include "simd/exp64.h"
#include <math.h>

/* Adds 16 lane sums by a fixed tree, in the order of every level. */
static float tree_sum(float s[16])
{
    for (int w = 8; w > 0; w /= 2)
        for (int i = 0; i < w; i++)
            s[i] += s[i + w];
    return s[0];
}

static float sum_of_squares(const float *x, float shift, size_t n)
{
    float s[16] = { 0 };
    for (size_t i = 0; i < n; i++) {
        const float d = x[i] - shift;
        s[i % 16] = fmaf(d, d, s[i % 16]);
    }
    return tree_sum(s);
}

static float sum(const float *x, size_t n)
{
    float s[16] = { 0 };
    for (size_t i = 0; i < n; i++)
        s[i % 16] += x[i];
    return tree_sum(s);
}

void qr_rms_norm_generic(float *out, const float *x, const float *w, float w_add, float eps,
                         size_t n)
{
    const float scale = 1 / sqrtf(sum_of_squares(x, 0, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * scale * (w ? w[i] + w_add : 1);
}

void qr_layer_norm_generic(float *out, const float *x, const float *w, const float *b, float w_add,
                           float eps, size_t n)
{
    const float mean = sum(x, n) / (float)n;
    const float scale = 1 / sqrtf(sum_of_squares(x, mean, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++)
        out[i] = fmaf((x[i] - mean) * scale, w ? w[i] + w_add : 1, b ? b[i] : 0);
}

void qr_silu_mul_generic(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = gate[i] / (1 + expf(-gate[i])) * (up ? up[i] : 1);
}

void qr_gelu_tanh_mul_generic(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = gate[i],
                    inner = 0.79788456080286536f * fmaf(0.044715f * x * x, x, x); /* sqrt(2/pi) */
        gate[i] = 0.5f * x * (1 + tanhf(inner)) * (up ? up[i] : 1);
    }
}

void qr_gelu_erf_mul_generic(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = 0.5f * gate[i] * (1 + erff(gate[i] * 0.70710678118654752f)) * (up ? up[i] : 1);
}

void qr_axpy_generic(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

void qr_scale_generic(float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

void qr_add_generic(float *x, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += b[i];
}

void qr_soft_cap_generic(float *x, float cap, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * tanhf(x[i] / cap);
}

void qr_rope_generic(float *x, const float *c, const float *s, size_t n, int half)
{
    for (size_t i = 0; i < n / 2; i++) {
        float *a = half ? &x[i] : &x[2 * i], *b = half ? &x[i + n / 2] : &x[2 * i + 1];
        const float a0 = *a, b0 = *b;
        *a = fmaf(-b0, s[i], a0 * c[i]);
        *b = fmaf(b0, c[i], a0 * s[i]);
    }
}

void qr_mask_logits_generic(float *x, const uint32_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(mask[i / 32] >> (i % 32) & 1))
            x[i] = -INFINITY;
}

float qr_largest_generic(const float *x, size_t n)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return INFINITY;
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

double qr_exp_sum_generic(const float *x, size_t n, double max, double temperature)
{
    double lanes[EXP64_LANES] = { 0 };
    size_t i = 0;
    for (; i + EXP64_LANES <= n; i += EXP64_LANES)
        for (size_t j = 0; j < EXP64_LANES; j++)
            lanes[j] += exp64((x[i + j] - max) / temperature);
    return exp64_finish(lanes, x + i, n - i, max, temperature);
}

void qr_init_ops_generic(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, rms_norm, generic);
    QR_SET_KERNEL(k, layer_norm, generic);
    QR_SET_KERNEL(k, silu_mul, generic);
    QR_SET_KERNEL(k, gelu_tanh_mul, generic);
    QR_SET_KERNEL(k, gelu_erf_mul, generic);
    QR_SET_KERNEL(k, axpy, generic);
    QR_SET_KERNEL(k, scale, generic);
    QR_SET_KERNEL(k, add, generic);
    QR_SET_KERNEL(k, soft_cap, generic);
    QR_SET_KERNEL(k, rope, generic);
    QR_SET_KERNEL(k, mask_logits, generic);
    QR_SET_KERNEL(k, largest, generic);
    QR_SET_KERNEL(k, exp_sum, generic);
    QR_SET_KERNEL(k, lora, generic);
}
