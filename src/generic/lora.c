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
                      float t[QR_LORA_PANEL])
{
    const size_t chain_size = qr_lora_panel_size(a->k) / QR_LORA_CHAINS;
    float s[QR_LORA_CHAINS][QR_LORA_PANEL] = { 0 };
    for (size_t i = 0; i < a->k; i++) {
        const size_t c = i % QR_LORA_CHAINS,
                     at = panel + c * chain_size + i / QR_LORA_CHAINS * QR_LORA_PANEL;
        for (size_t j = 0; j < QR_LORA_PANEL; j++)
            s[c][j] = qr_fmaf(x[i], weight(a, at + j), s[c][j]);
    }
    for (size_t j = 0; j < QR_LORA_PANEL; j++)
        t[j] = a->chain ? s[a->chain - 1][j] : (s[0][j] + s[1][j]) + (s[2][j] + s[3][j]);
}

void qr_lora_generic(const struct qr_lora_kernel_args *a)
{
    const bool stores = a->chain || a->scales;
    for (size_t j0 = 0; j0 < a->n; j0 += QR_LORA_PANEL)
        for (size_t i = 0; i < a->n_rows; i++) {
            const size_t r = a->rows ? a->rows[i] : a->first_row + i,
                         n = a->n - j0 < QR_LORA_PANEL ? a->n - j0 : QR_LORA_PANEL;
            float *out = a->out + (r - a->first_row) * a->out_stride + j0, t[QR_LORA_PANEL];
            panel_row(a, j0 / QR_LORA_PANEL * qr_lora_panel_size(a->k), a->x + r * a->x_stride, t);
            const float scale = a->scales && !a->chain ? a->scale * a->scales[r] : 1;
            for (size_t j = 0; j < n; j++)
                out[j] = stores ? t[j] * scale : out[j] + t[j];
        }
}
