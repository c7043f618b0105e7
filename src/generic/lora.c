/* SPDX-License-Identifier: Apache-2.0 */
/* lora.c - products of low-rank adapters in plain C: the reference of the vector levels. */
#include "base/half.h"
#include "generic/fma.h"
#include "kernels/kernels.h"

/* Element i of the panels. */
static float weight(const struct qr_lora_kernel_args *a, size_t i)
{
    return a->bf16 ? qr_bf16_to_f32(((const uint16_t *)a->w)[i]) : ((const float *)a->w)[i];
}

/* The dot products of one row with the panel at element `panel`. */
static void panel_row(const struct qr_lora_kernel_args *a, size_t panel, const float *x,
                      float t[16])
{
    float s[4][16] = { 0 };
    for (size_t i = 0; i < a->k; i++)
        for (int j = 0; j < 16; j++)
            s[i % 4][j] = qr_fmaf(x[i], weight(a, panel + i * 16 + (size_t)j), s[i % 4][j]);
    for (int j = 0; j < 16; j++)
        t[j] = (s[0][j] + s[1][j]) + (s[2][j] + s[3][j]);
}

void qr_lora_generic(const struct qr_lora_kernel_args *a)
{
    for (size_t j0 = 0; j0 < a->n; j0 += 16)
        for (size_t i = 0; i < a->n_rows; i++) {
            const size_t r = a->rows ? a->rows[i] : a->first_row + i,
                         n = a->n - j0 < 16 ? a->n - j0 : 16;
            float *out = a->out + (r - a->first_row) * a->out_stride + j0, t[16];
            panel_row(a, j0 * a->k, a->x + r * a->x_stride, t);
            const float scale = a->scales ? a->scale * a->scales[r] : 1;
            for (size_t j = 0; j < n; j++)
                out[j] = a->scales ? t[j] * scale : out[j] + t[j];
        }
}
