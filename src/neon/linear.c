/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - kernel table entries of the linear family for neon. */
#include "kernels/kernels.h"

void qr_init_linear_neon(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_act_q8, neon);
    QR_SET_KERNEL(k, linear_f32_f32, neon);
    QR_SET_KERNEL(k, linear_f32_f16, neon);
    QR_SET_KERNEL(k, linear_f32_bf16, neon);
    QR_SET_KERNEL(k, linear_native_bf16, neon);
    QR_SET_KERNEL(k, unpack_bf16_f16, neon);
#define X(name, ...)                                                                               \
    QR_SET_KERNEL(k, linear_f32_##name, neon);                                                     \
    QR_SET_KERNEL(k, unpack_bf16_##name, neon);
    QR_QUANT_TYPES(X)
#undef X
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, neon);
    QR_INTEGER_TYPES(X)
#undef X
}
