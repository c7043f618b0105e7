/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx2_vnni, on VPDPBUSD. */
#include "simd/sum_tables_avx2.h"
#include "simd/vec_avx2.h"
#define QR_ISA         avx2_vnni
#define LINEAR_Q8_ROWS 4
#define LINEAR_Q8_VECS 2
#include "template/linear_q8_tpl.h"

void qr_init_linear_avx2_vnni(struct qr_kernels *k)
{
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx2_vnni);
    QR_INTEGER_TYPES(X)
#undef X
}
