/* SPDX-License-Identifier: Apache-2.0 */
/* linear_native.c - bf16 activations times bf16 weights for avx2. Splitting pairs takes registers,
 * so the tile is smaller than that of f32 activations. */
#include "simd/vec_avx2.h"
#define QUIRE_ISA         avx2
#define LINEAR_FLOAT_ROWS 4
#define LINEAR_FLOAT_VECS 2
#include "template/linear_native_tpl.h"
