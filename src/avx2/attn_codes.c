/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - tiles of 8-bit codes for avx2. */
#include "simd/vec_avx2.h"
/* vec_math.h builds on the vec header, the templates on both */
#include "simd/vec_math.h"
#define QR_ISA avx2
#include "template/attn_common_tpl.h"
#include "template/attn_unpack_tpl.h"
/* which says how codes are read */
#include "template/attn_codes_tpl.h"
