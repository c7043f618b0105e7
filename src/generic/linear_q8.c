/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations: quantization and products with quantized weights, in plain C. */
#include "base/half.h"
#include "generic/fma.h"
#include "generic/linear_unpack.h"
#include "kernels/kernels.h"

enum { R = QR_PANEL_ROWS, CHUNK_M = 32 };

/* One sub-block of `sub` values of one activation row (N2). */
static void multiply_sub(const int16_t (*w)[R], const int8_t *q, size_t sub, const float *scale,
                         float da, float *acc)
{
    int32_t isum[R] = { 0 };
    for (size_t k = 0; k < sub; k++)
        for (size_t r = 0; r < R; r++)
            isum[r] += w[k][r] * q[k];
    for (size_t r = 0; r < R; r++)
        acc[r] = qr_fmaf((float)isum[r], scale[r] * da, acc[r]);
}

static void multiply_group(struct qr_panel_format f, const struct generic_group *g, size_t n_blocks,
                           const struct qr_q8_block *q, const float *half_sums, float *acc)
{
    const size_t sub = qr_panel_sub16(f) ? 16 : 32, per_block = QR_BLOCK_K / sub;
    for (size_t i = 0; i < n_blocks * per_block; i++) {
        const struct qr_q8_block *a = q + i / per_block;
        const size_t half = i % per_block;
        multiply_sub(g->w + i * sub, a->q + half * sub, sub, g->scale[i], a->d, acc);
        if (!qr_panel_has_min(f))
            continue;
        const float ds = per_block == 1 ? a->d_sum : half_sums[i];
        for (size_t r = 0; r < R; r++)
            acc[r] = qr_fmaf(-g->min[i][r], ds, acc[r]);
    }
}

static void run_panel(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                      const uint8_t *panel, size_t i0, size_t m, float (*acc)[R])
{
    struct generic_group g;
    const size_t blocks = a->k / QR_BLOCK_K;
    for (size_t b0 = 0; b0 < blocks; b0 += QR_GROUP_K / QR_BLOCK_K) {
        const size_t nb = blocks - b0 < 8 ? blocks - b0 : 8;
        qr_generic_unpack(f, panel, nb, &g);
        panel += qr_panel_group_bytes(f, nb);
        for (size_t i = 0; i < m; i++) {
            const size_t b = (i0 + i) * a->q_stride + b0;
            multiply_group(f, &g, nb, a->q + b, a->half_sums + 2 * b, acc[i]);
        }
    }
}

static void run(struct qr_panel_format f, const struct qr_linear_kernel_args *a)
{
    float acc[CHUNK_M][R];
    for (size_t j0 = 0; j0 < a->n; j0 += R) {
        const size_t n = a->n - j0 < R ? a->n - j0 : R;
        for (size_t i0 = 0; i0 < a->m; i0 += CHUNK_M) {
            const size_t m = a->m - i0 < CHUNK_M ? a->m - i0 : CHUNK_M;
            memset(acc, 0, sizeof acc);
            run_panel(f, a, (const uint8_t *)a->w + j0 / R * a->panel_bytes, i0, m, acc);
            for (size_t i = 0; i < m; i++)
                for (size_t r = 0; r < n; r++)
                    a->out[(i0 + i) * a->out_stride + j0 + r] =
                        a->bias ? acc[i][r] + a->bias[j0 + r] : acc[i][r];
        }
    }
}

#define X(name, NAME, ...)                                                                         \
    void qr_linear_q8_##name##_generic(const struct qr_linear_kernel_args *a)                      \
    {                                                                                              \
        run((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a);                              \
    }
QR_INTEGER_TYPES(X)
#undef X

/* Largest magnitude as bits, where NaN and Inf compare above all numbers. */
static uint32_t max_magnitude(const float *x)
{
    uint32_t max = 0;
    for (size_t i = 0; i < QR_BLOCK_K; i++) {
        const uint32_t bits = qr_f32_to_bits(x[i]) & 0x7fffffff;
        max = bits > max ? bits : max;
    }
    return max;
}

void qr_quantize_act_q8_generic(struct qr_q8_block *q, float *half_sums, const float *x,
                                size_t n_blocks)
{
    for (size_t b = 0; b < n_blocks; b++, q++, half_sums += 2, x += QR_BLOCK_K) {
        const uint32_t max = max_magnitude(x);
        const float amax = qr_bits_to_f32(max);
        const bool finite = max < 0x7f800000, zero = !finite || amax < 0x1p-100f;
        const float inv = zero ? 0 : 127 / amax;
        int32_t sum[2] = { 0, 0 };
        for (size_t i = 0; i < QR_BLOCK_K; i++) {
            q->q[i] = zero ? 0 : (int8_t)lrintf(x[i] * inv);
            sum[i / 16] += q->q[i];
        }
        q->d = !finite ? NAN : zero ? 0 : amax / 127;
        q->d_sum = q->d * (float)(sum[0] + sum[1]);
        q->neg_half_sum = -sum[0];
        q->neg_sum = -(sum[0] + sum[1]);
        for (size_t half = 0; half < 2; half++)
            half_sums[half] = q->d * (float)sum[half];
    }
}
