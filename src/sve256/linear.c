/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - kernel table entries of the linear family for sve256. */
#include "kernels/kernels.h"

void qr_init_linear_sve256(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_act_q8, sve256);
    QR_SET_KERNEL(k, linear_f32_f32, sve256);
    QR_SET_KERNEL(k, linear_f32_f16, sve256);
    QR_SET_KERNEL(k, linear_f32_bf16, sve256);
    QR_SET_KERNEL(k, linear_native_bf16, sve256);
    QR_SET_KERNEL(k, unpack_bf16_f16, sve256);
#define X(name, ...)                                                                               \
    QR_SET_KERNEL(k, linear_f32_##name, sve256);                                                   \
    QR_SET_KERNEL(k, unpack_bf16_##name, sve256);
    QR_QUANT_TYPES(X)
#undef X
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, sve256);
    QR_INTEGER_TYPES(X)
#undef X
}
