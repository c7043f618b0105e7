/* SPDX-License-Identifier: Apache-2.0 */
/* linear_float.c - f32 and bf16 activations times packed weights for avx512. */
#include "simd/vec_avx512.h"
#define QR_ISA            avx512
#define LINEAR_FLOAT_ROWS 6
#define LINEAR_FLOAT_VECS 4
#define LINEAR_NATIVE_F32
#include "template/linear_dequant_tpl.h"
#include "template/linear_native_tpl.h"
#include "template/linear_panels_tpl.h"
#include "template/linear_unpack_bf16_tpl.h"
