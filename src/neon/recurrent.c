/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers for neon. */
#include "simd/vec_neon.h"
#define QR_ISA neon
#include "template/recurrent_tpl.h"
