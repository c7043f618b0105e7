/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - softmax, span merge and fp8 unpacking for neon, and what neon adds to the kernel table. */
#include "simd/vec_neon.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QUIRE_ISA neon
#include "template/attn_softmax_tpl.h"
#include "template/attn_unpack_tpl.h"

void quire_init_attn_neon(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_f32, neon);
    QUIRE_SET(k, attn_qk_f16, neon);
    QUIRE_SET(k, attn_qk_bf16, neon);
    QUIRE_SET(k, attn_qk_bf16_native, neon);
    QUIRE_SET(k, attn_softmax, neon);
    QUIRE_SET(k, attn_pv_f32, neon);
    QUIRE_SET(k, attn_pv_f16, neon);
    QUIRE_SET(k, attn_pv_bf16, neon);
    QUIRE_SET(k, attn_pv_bf16_native, neon);
    QUIRE_SET(k, attn_merge, neon);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, neon);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, neon);
}
