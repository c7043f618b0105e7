/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - tiles of 8-bit codes for neon. */
#include "simd/vec_neon.h"
/* vec_math.h builds on the vec header, the templates on both */
#include "simd/vec_math.h"
#define QR_ISA neon
#include "template/attn_common_tpl.h"
#include "template/attn_unpack_tpl.h"
/* which says how codes are read */
#include "template/attn_codes_tpl.h"
