/* SPDX-License-Identifier: Apache-2.0 */
/* linear_dequant_tpl.h - f32 activations times quantized panels.
 *
 * Each group of weights is dequantized to [k][16] f32, exactly as the format defines, and
 * multiplied as an f32 panel. Needs what linear_float_tpl.h needs. */
#include "template/linear_float_tpl.h"
#include "template/linear_unpack_tpl.h"

/* Dequantizes a group to w. */
QR_INLINE void linear_dequant(struct qr_panel_format f, const uint8_t *group, size_t n_blocks,
                              float *w)
{
    struct linear_codes c;
    struct linear_scales g;
    linear_unpack_scales(f, group, n_blocks, &g, 0);
    linear_unpack_codes(f, false, group + qr_panel_header_bytes(f, n_blocks), n_blocks, &c);
    for (size_t s = 0; s < n_blocks * 8; s++)
        for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N) {
            vf32 v[4];
            linear_step_values(f, &c, &g, s, r, v);
            QR_UNROLL_16 (int i = 0; i < 4; i++)
                vf32_store(w + (4 * s + (size_t)i) * QR_PANEL_ROWS + r, v[i]);
        }
}

static __attribute__((noinline)) void linear_chunk_dequant(const struct linear_float_args *p,
                                                           size_t m)
{
    linear_float_block(LINEAR_F32, LINEAR_FLOAT_ROWS, QR_PANEL_ROWS / VF32_N, *p, m, QR_PANEL_ROWS);
}

/* The same for k whose activations are elements order[0] .. order[p->k - 1] of the rows at p->x,
 * which are gathered LINEAR_ORDERED_M rows at a time. */
static __attribute__((noinline)) void linear_chunk_ordered(const struct linear_float_args *p,
                                                           const uint32_t *order, size_t m)
{
    enum { LINEAR_ORDERED_M = 16 };
    float x[LINEAR_ORDERED_M][QR_GROUP_K];
    struct linear_float_args part = *p;
    part.x = x[0];
    part.x_stride = QR_GROUP_K;
    for (size_t i0 = 0, n; i0 < m; i0 += n) {
        n = m - i0 < LINEAR_ORDERED_M ? m - i0 : LINEAR_ORDERED_M;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < p->k; k++)
                x[i][k] = ((const float *)p->x)[(i0 + i) * p->x_stride + order[k]];
        part.acc = p->acc + i0 * p->acc_ld;
        linear_chunk_dequant(&part, n);
    }
}

QR_INLINE void linear_dequant_run(struct qr_panel_format f, const struct qr_linear_kernel_args *a)
{
    enum { R = QR_PANEL_ROWS };
    _Alignas(64) float acc[LINEAR_QUANT_M * R], w[QR_GROUP_K * R];
    const bool ordered = qr_panel_has_zero(f) && a->order;
    for (size_t j0 = 0; j0 < a->n; j0 += R)
        for (size_t i0 = 0; i0 < a->m; i0 += LINEAR_QUANT_M) {
            const size_t m = a->m - i0 < LINEAR_QUANT_M ? a->m - i0 : LINEAR_QUANT_M;
            const uint8_t *group = (const uint8_t *)a->w + j0 / R * a->panel_bytes;
            memset(acc, 0, m * R * sizeof *acc);
            for (size_t k0 = 0; k0 < a->k; k0 += QR_GROUP_K) {
                const size_t kn = a->k - k0 < QR_GROUP_K ? a->k - k0 : QR_GROUP_K;
                linear_dequant(f, group, kn / QR_BLOCK_K, w);
                group += qr_panel_group_bytes(f, kn / QR_BLOCK_K);
                const struct linear_float_args p = {
                    .w = (const uint8_t *)w,
                    .x = a->x + i0 * a->x_stride + (ordered ? 0 : k0),
                    .acc = acc,
                    .w_ld = R,
                    .x_stride = a->x_stride,
                    .acc_ld = R,
                    .k = kn,
                };
                if (ordered)
                    linear_chunk_ordered(&p, a->order + k0, m);
                else
                    linear_chunk_dequant(&p, m);
            }
            linear_store(a, i0, m, j0, R, acc, R);
        }
}

#define X(name, NAME, ...)                                                                         \
    void QR_KERNEL(linear_f32_##name)(const struct qr_linear_kernel_args *a)                       \
    {                                                                                              \
        linear_dequant_run((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a);               \
    }
QR_QUANT_TYPES(X)
#undef X
