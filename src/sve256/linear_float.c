/* SPDX-License-Identifier: Apache-2.0 */
/* linear_float.c - f32 and bf16 activations times packed weights for sve256. */
#define VEC_SVE_SUMS 1
#include "simd/vec_sve.h"
#define QR_ISA            sve256
#define LINEAR_FLOAT_ROWS 6
#define LINEAR_FLOAT_VECS 4
#include "template/linear_dequant_tpl.h"
#include "template/linear_native_tpl.h"
#include "template/linear_panels_tpl.h"
#include "template/linear_unpack_bf16_tpl.h"
