/* SPDX-License-Identifier: Apache-2.0 */
/* attn_tile.c - Q K^T scores and P V of f32, f16 and bf16 tiles for sve256. */
#define VEC_SVE_SUMS 1
#include "simd/vec_sve.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QR_ISA sve256
#define ATTN_F32
#include "template/attn_tile_tpl.h"
#define ATTN_F16
#include "template/attn_tile_tpl.h"
#define ATTN_BF16
#include "template/attn_tile_tpl.h"
#define ATTN_BF16_NATIVE
#include "template/attn_tile_tpl.h"
