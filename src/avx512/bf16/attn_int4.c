/* SPDX-License-Identifier: Apache-2.0 */
/* attn_int4.c - attention over int4 tiles for avx512_bf16, with byte tables of VBMI. */
#include "simd/vec_avx512.h"
/* int4_dot.h builds on the vec header */
#include "simd/int4_dot.h"
#define QR_ISA avx512_bf16
#include "template/attn_int4_tpl.h"
