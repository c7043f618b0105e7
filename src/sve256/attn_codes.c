/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - attention kernels of fp8 and int8 tiles for sve256. */
#define VEC_SVE_SUMS 1
#include "simd/vec_sve.h"
/* vec_math.h and bf16_from_codes.h build on the vec header, the template on all */
#include "simd/bf16_from_codes.h"
#include "simd/vec_math.h"
#define QR_ISA sve256
#include "template/attn_codes_tpl.h"
