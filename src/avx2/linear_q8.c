/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx2. */
#include "simd/sum_tables_avx2.h"
#include "simd/vec_avx2.h"
#define QR_ISA                      avx2
#define LINEAR_Q8_ROWS              4
#define LINEAR_Q8_SUM_ROWS          6
#define LINEAR_Q8_VECS              2
#define LINEAR_PREFETCH_ALONE_BYTES WEIGHT_PREFETCH_L1_BYTES_ALONE_AVX2
#include "template/linear_act_tpl.h"
#include "template/linear_q8_tpl.h"

void qr_init_sum_tables_avx2(struct qr_kernels *k) { linear_sums_set(k); }
