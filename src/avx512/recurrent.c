/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers for avx512. */
#include "simd/vec_avx512.h"
#define QR_ISA avx512
#include "template/recurrent_tpl.h"
