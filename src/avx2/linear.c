/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - kernel table entries of the linear family for avx2. */
#include "kernels/kernels.h"

void qr_init_linear_avx2(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_act_q8, avx2);
    qr_init_sum_tables_avx2(k);
    QR_SET_KERNEL(k, linear_f32_f32, avx2);
    QR_SET_KERNEL(k, linear_f32_f16, avx2);
    QR_SET_KERNEL(k, linear_f32_bf16, avx2);
    QR_SET_KERNEL(k, linear_native_bf16, avx2);
    k->native_bf16_reads_f32 = true;
    QR_SET_KERNEL(k, unpack_bf16_f16, avx2);
#define X(name, ...)                                                                               \
    QR_SET_KERNEL(k, linear_f32_##name, avx2);                                                     \
    QR_SET_KERNEL(k, unpack_bf16_##name, avx2);
    QR_QUANT_TYPES(X)
#undef X
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx2);
    QR_INTEGER_TYPES(X)
#undef X
}
