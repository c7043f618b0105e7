/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - attention kernels of fp8 and int8 tiles for avx512. */
#include "simd/vec_avx512.h"
/* vec_math.h and bf16_from_codes.h build on the vec header, the template on all */
#include "simd/bf16_from_codes.h"
#include "simd/vec_math.h"
#define QR_ISA avx512
#include "template/attn_codes_tpl.h"
