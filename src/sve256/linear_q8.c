/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for sve256, on SMMLA and SDOT. */
#include "simd/vec_sve.h"
#define QR_ISA         sve256
#define LINEAR_Q8_ROWS 6
#define LINEAR_Q8_VECS 2
#include "template/linear_act_tpl.h"
#include "template/linear_q8_tpl.h"
