/* SPDX-License-Identifier: Apache-2.0 */
/* linear_panels_tpl.h - f32 activations times f32, f16 and bf16 panels. Needs what
 * linear_float_tpl.h needs. */
#include "template/linear_float_tpl.h"

LINEAR_FLOAT_CHUNK(f32, LINEAR_F32, 4)
LINEAR_FLOAT_CHUNK(f16, LINEAR_F16, 4)
LINEAR_FLOAT_CHUNK(bf16, LINEAR_BF16, 4)

void QR_KERNEL(linear_f32_f32)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_F32, linear_chunk_f32);
}

void QR_KERNEL(linear_f32_f16)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_F16, linear_chunk_f16);
}

void QR_KERNEL(linear_f32_bf16)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_BF16, linear_chunk_bf16);
}
