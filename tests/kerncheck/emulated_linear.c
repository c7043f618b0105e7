/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_linear.c - the linear templates over emulated vectors, for any host and sanitizers;
 * those of int8 activations are in a file of their own, so that they compile at the same time. */
#include "emulated.h"
#include "simd/vec_scalar.h"
#define QR_ISA            emulated
#define LINEAR_FLOAT_ROWS 4
#define LINEAR_FLOAT_VECS 2
#define LINEAR_NATIVE_F32
#define LINEAR_WIDEN_ROWS 16
#include "template/linear_dequant_tpl.h"
#include "template/linear_native_tpl.h"
#include "template/linear_panels_tpl.h"
#include "template/linear_unpack_bf16_tpl.h"

void qr_init_linear_emulated(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, quantize_act_q8, emulated);
    QR_SET_KERNEL(k, linear_f32_f32, emulated);
    QR_SET_KERNEL(k, linear_f32_f16, emulated);
    QR_SET_KERNEL(k, linear_f32_bf16, emulated);
    QR_SET_KERNEL(k, linear_native_bf16, emulated);
    k->native_bf16_reads_f32 = true;
    QR_SET_KERNEL(k, unpack_bf16_f16, emulated);
#define X(name, ...)                                                                               \
    QR_SET_KERNEL(k, linear_f32_##name, emulated);                                                 \
    QR_SET_KERNEL(k, unpack_bf16_##name, emulated);
    QR_QUANT_TYPES(X)
#undef X
    qr_init_linear_q8_emulated(k);
}
