/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512. */
#include "simd/sum_tables_avx512.h"
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "template/linear_act_tpl.h"
#include "template/linear_q8_tpl.h"

void qr_init_sum_tables_avx512(struct qr_kernels *k) { linear_sums_set(k); }
