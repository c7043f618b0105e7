/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512_bf16, on VPDPBUSD, with codes
 * of up to six bits taken from bytes by VPERMB. */
#include "simd/sum_tables_avx512.h"
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_bf16
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "template/linear_q8_tpl.h"
