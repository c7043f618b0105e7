/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - kernel table entries of the linear family for avx512. */
#include "kernels/kernels.h"

void qr_init_linear_avx512(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_act_q8, avx512);
    qr_init_sum_tables_avx512(k);
    QR_SET_KERNEL(k, linear_f32_f32, avx512);
    QR_SET_KERNEL(k, linear_f32_f16, avx512);
    QR_SET_KERNEL(k, linear_f32_bf16, avx512);
    QR_SET_KERNEL(k, linear_native_bf16, avx512);
    k->native_bf16_reads_f32 = true;
    QR_SET_KERNEL(k, unpack_bf16_f16, avx512);
#define X(name, ...)                                                                               \
    QR_SET_KERNEL(k, linear_f32_##name, avx512);                                                   \
    QR_SET_KERNEL(k, unpack_bf16_##name, avx512);
    QR_QUANT_TYPES(X)
#undef X
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx512);
    QR_INTEGER_TYPES(X)
#undef X
}
