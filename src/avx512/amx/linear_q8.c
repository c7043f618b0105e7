/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512_amx: GEMM on tiles, skinny GEMM
 * on VPDPBUSD. */
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_amx
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "avx512/amx/linear_q8_tiles.h"
#define LINEAR_Q8_USE_MATRIX(f, m) linear_q8_use_amx(f, m)
#define LINEAR_Q8_MATRIX_GEMM      linear_q8_gemm_amx
#include "template/linear_q8_tpl.h"
