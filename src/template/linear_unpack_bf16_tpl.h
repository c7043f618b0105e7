/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_bf16_tpl.h - rounds the weights of quantized and f16 panels to bf16, in the layout
 * of bf16 panels. Needs a vec_*.h and QR_ISA. */
#include "simd/vec_math.h"
#include "template/linear_unpack_f16_tpl.h"
#include "template/linear_unpack_tpl.h"

QR_INLINE void linear_unpack_bf16(struct qr_panel_format f, uint16_t *out, const uint8_t *panel,
                                  size_t k)
{
    for (size_t k0 = 0; k0 < k; k0 += QR_GROUP_K) {
        const size_t n_blocks = (k - k0 < QR_GROUP_K ? k - k0 : QR_GROUP_K) / QR_BLOCK_K;
        struct linear_codes c;
        struct linear_scales g;
        linear_unpack_scales(f, panel, n_blocks, &g, 0);
        linear_unpack_codes(f, false, panel + qr_panel_header_bytes(f, n_blocks), n_blocks, &c);
        for (size_t s = 0; s < n_blocks * 8; s++, out += 2 * LINEAR_PAIR_STRIDE)
            for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N) {
                vf32 v[4];
                linear_step_values(f, &c, &g, s, r, v);
                vi32_store(out + 2 * r, vf32_pairs_bf16(v[0], v[1]));
                vi32_store(out + LINEAR_PAIR_STRIDE + 2 * r, vf32_pairs_bf16(v[2], v[3]));
            }
        panel += qr_panel_group_bytes(f, n_blocks);
    }
}

#define X(name, NAME, ...)                                                                         \
    void QR_KERNEL(unpack_bf16_##name)(uint16_t * out, const uint8_t *panel, size_t k)             \
    {                                                                                              \
        linear_unpack_bf16((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), out, panel, k);   \
    }
QR_QUANT_TYPES(X)
#undef X
