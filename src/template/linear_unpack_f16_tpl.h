/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_f16_tpl.h - rounds the weights of f16 panels to bf16, in the layout of bf16 panels.
 * Needs a vec_*.h and QR_ISA. */
#include "template/linear_common_tpl.h"

enum { LINEAR_PAIR_STRIDE = 2 * QR_FLOAT_PANEL_ROWS }; /* from one pair of k to the next */

void QR_KERNEL(unpack_bf16_f16)(uint16_t *out, const uint8_t *panel, size_t k)
{
    const uint16_t *w = (const uint16_t *)(const void *)panel;
    for (size_t i = 0; i < k; i += 2, out += LINEAR_PAIR_STRIDE) {
        const uint16_t *even = w + i * QR_FLOAT_PANEL_ROWS, *odd = even + QR_FLOAT_PANEL_ROWS;
        prefetch_weight_bytes((const uint8_t *)even, 2 * QR_FLOAT_PANEL_ROWS * sizeof *w,
                              QR_WEIGHT_PREFETCH_TWICE);
        for (size_t r = 0; r < QR_FLOAT_PANEL_ROWS; r += VF32_N)
            vi32_store(out + 2 * r,
                       vf32_pairs_bf16(vf32_load_f16(even + r),
                                       i + 1 < k ? vf32_load_f16(odd + r) : vf32_zero()));
    }
}
