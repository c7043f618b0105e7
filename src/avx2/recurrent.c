/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers for avx2. */
#include "simd/vec_avx2.h"
#define QR_ISA avx2
#include "template/recurrent_tpl.h"
