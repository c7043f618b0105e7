/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for neon. */
#include "simd/vec_neon.h"
#define QR_ISA         neon
#define LINEAR_Q8_ROWS 4
#define LINEAR_Q8_VECS 4
#include "template/linear_act_tpl.h"
#include "template/linear_q8_tpl.h"
