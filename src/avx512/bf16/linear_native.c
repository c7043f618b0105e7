/* SPDX-License-Identifier: Apache-2.0 */
/* linear_native.c - bf16 activations times bf16 weights for avx512_bf16, on VDPBF16PS.
 *
 * The instruction adds the odd product of a pair, then the even one, and treats denormals as zero,
 * as rule N3 specifies. */
#include "simd/vec_avx512.h"
#define QR_ISA            avx512_bf16
#define LINEAR_FLOAT_ROWS 6
#define LINEAR_FLOAT_VECS 4
#include "template/linear_native_tpl.h"

void qr_init_linear_avx512_bf16(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, linear_native_bf16, avx512_bf16);
    k->native_bf16_reads_f32 = false;
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx512_bf16);
    QR_INTEGER_TYPES(X)
#undef X
    qr_init_sum_tables_avx512_bf16(k);
    QR_SET_KERNEL(k, unpack_bf16_f16, avx512_bf16);
#define X(name, ...) QR_SET_KERNEL(k, unpack_bf16_##name, avx512_bf16);
    QR_QUANT_TYPES(X)
#undef X
}
