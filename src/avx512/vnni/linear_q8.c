/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512_vnni, on VPDPBUSD. */
#include "simd/sum_tables_avx512.h"
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_vnni
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "template/linear_q8_tpl.h"

void qr_init_linear_avx512_vnni(struct qr_kernels *k)
{
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx512_vnni);
    QR_INTEGER_TYPES(X)
#undef X
    /* Xeon: a block of 32 outputs takes 12 ns by products, 9 by tables, and its tables 22 */
    k->sum_tables_min_outputs = 256;
}
