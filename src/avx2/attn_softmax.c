/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - softmax, span merge and fp8 unpacking for avx2, and what avx2 adds to the kernel table. */
#include "simd/vec_avx2.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QUIRE_ISA avx2
#include "template/attn_softmax_tpl.h"
#include "template/attn_unpack_tpl.h"

void quire_init_attn_avx2(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_f32, avx2);
    QUIRE_SET(k, attn_qk_f16, avx2);
    QUIRE_SET(k, attn_qk_bf16, avx2);
    QUIRE_SET(k, attn_qk_bf16_native, avx2);
    QUIRE_SET(k, attn_softmax, avx2);
    QUIRE_SET(k, attn_pv_f32, avx2);
    QUIRE_SET(k, attn_pv_f16, avx2);
    QUIRE_SET(k, attn_pv_bf16, avx2);
    QUIRE_SET(k, attn_pv_bf16_native, avx2);
    QUIRE_SET(k, attn_merge, avx2);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, avx2);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, avx2);
}
