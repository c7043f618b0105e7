/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantised weights for avx512_amx: many rows by tiles, few by VPDPBUSD. */
#include "simd/vec_avx512.h"
#define QR_ISA           avx512_amx
#define LINEAR_Q8_ROWS   6
#define LINEAR_Q8_VECS   2
#define LINEAR_LEAD      3584
#define LINEAR_Q8_MATRIX "avx512/amx/linear_q8_tiles.h"
#include "template/linear_q8_tpl.h"
