/* SPDX-License-Identifier: Apache-2.0 */
/* linear_panels_tpl.h - the kernels for f32, f16 and bf16 panels; see linear_float_tpl.h. */
#include "template/linear_float_tpl.h"

LINEAR_FLOAT_PART(f32, LINEAR_F32, 4)
LINEAR_FLOAT_PART(f16, LINEAR_F16, 4)
LINEAR_FLOAT_PART(bf16, LINEAR_BF16, 4)

void LINEAR_KERNEL(linear_f32_f32)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_F32, linear_part_f32);
}

void LINEAR_KERNEL(linear_f32_f16)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_F16, linear_part_f16);
}

void LINEAR_KERNEL(linear_f32_bf16)(const struct qr_linear_kernel_args *a)
{
    linear_float_run(a, LINEAR_BF16, linear_part_bf16);
}
