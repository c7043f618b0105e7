/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers for sve256. */
#include "simd/vec_sve.h"
#define QR_ISA sve256
#include "template/recurrent_tpl.h"
