/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for neon_i8mm, on SMMLA. */
#include "simd/vec_neon.h"
#define QR_ISA         neon_i8mm
#define LINEAR_Q8_ROWS 4
#define LINEAR_Q8_VECS 4
#include "template/linear_q8_tpl.h"

void qr_init_linear_neon_i8mm(struct qr_kernels *k)
{
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, neon_i8mm);
    QR_INTEGER_TYPES(X)
#undef X
}
