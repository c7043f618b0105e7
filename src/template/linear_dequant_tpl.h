/* SPDX-License-Identifier: Apache-2.0 */
/* linear_dequant_tpl.h - f32 activations times quantized panels.
 *
 * Each group of weights is dequantized to [k][16] f32, exactly as the format defines, and
 * multiplied as an f32 panel. Needs what linear_float_tpl.h needs. */
#include "template/linear_float_tpl.h"
#include "template/linear_unpack_tpl.h"

/* Byte i of each lane minus the offset, as f32. */
QR_INLINE vf32 linear_code_f32(vi32 codes, int i, int offset)
{
    const vi32 code = vi32_and(vi32_shr(codes, 8 * i), vi32_set1(255));
    return vf32_from_i32(vi32_sub(code, vi32_set1(offset)));
}

/* Dequantizes a group to w. scale * code is exact in f32, so the only rounding is the one the
 * format has: the subtraction of the minimum. */
QR_INLINE void linear_dequant(struct qr_panel_format f, const uint8_t *group, size_t n_blocks,
                              float *w)
{
    struct linear_codes c;
    struct linear_scales g;
    linear_unpack_scales(f, group, n_blocks, &g, 0);
    linear_unpack_codes(f, false, group + qr_panel_header_bytes(f, n_blocks), n_blocks, &c);
    const size_t sub_steps = qr_panel_sub16(f) ? 4 : 8;
    for (size_t s = 0; s < n_blocks * 8; s++)
        for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N) {
            const vi32 codes = vi32_load(&c.step[s][4 * r]);
            const vf32 scale = vf32_load(&g.scale[s / sub_steps][r]);
            QR_UNROLL_16 (int i = 0; i < 4; i++) {
                vf32 v = vf32_mul(scale, linear_code_f32(codes, i, f.offset));
                if (qr_panel_has_min(f))
                    v = vf32_sub(v, vf32_load(&g.min[s / sub_steps][r]));
                vf32_store(w + (4 * s + (size_t)i) * QR_PANEL_ROWS + r, v);
            }
        }
}

static __attribute__((noinline)) void linear_chunk_dequant(const struct linear_float_args *p,
                                                           size_t m)
{
    linear_float_block(LINEAR_F32, LINEAR_FLOAT_ROWS, QR_PANEL_ROWS / VF32_N, *p, m, QR_PANEL_ROWS);
}

QR_INLINE void linear_dequant_run(struct qr_panel_format f, const struct qr_linear_kernel_args *a)
{
    enum { R = QR_PANEL_ROWS };
    _Alignas(64) float acc[LINEAR_QUANT_M * R], w[QR_GROUP_K * R];
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
                    .x = a->x + i0 * a->x_stride + k0,
                    .acc = acc,
                    .w_ld = R,
                    .x_stride = a->x_stride,
                    .acc_ld = R,
                    .k = kn,
                };
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
