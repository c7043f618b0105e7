/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - tiles of 8-bit codes on vpermi2b and vdpbf16ps. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header, the templates on both */
#include "simd/vec_math.h"
#define QR_ISA avx512_bf16
#include "template/attn_common_tpl.h"
/* which says what codes are as pairs */
#include "avx512/bf16/attn_unpack.h"
/* and how they are read */
#include "template/attn_codes_tpl.h"
