/* SPDX-License-Identifier: Apache-2.0 */
/* linear_float.c - f32 and bf16 activations times packed weights for avx2. */
#include "simd/vec_avx2.h"
#define QR_ISA            avx2
#define LINEAR_FLOAT_ROWS 6
#define LINEAR_FLOAT_VECS 2
#define LINEAR_NATIVE_F32
#define LINEAR_WIDEN_ROWS           12
#define LINEAR_PREFETCH_ALONE_BYTES WEIGHT_PREFETCH_L1_BYTES_ALONE_AVX2
#include "template/linear_dequant_tpl.h"
#include "template/linear_native_tpl.h"
#include "template/linear_panels_tpl.h"
#include "template/linear_unpack_bf16_tpl.h"
