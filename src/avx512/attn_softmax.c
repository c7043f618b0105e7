/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - softmax, span merge and fp8 unpacking for avx512, and what avx512 adds to the kernel table. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QUIRE_ISA avx512
#include "template/attn_softmax_tpl.h"
#include "template/attn_unpack_tpl.h"

void quire_init_attn_avx512(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_f32, avx512);
    QUIRE_SET(k, attn_qk_f16, avx512);
    QUIRE_SET(k, attn_qk_bf16, avx512);
    QUIRE_SET(k, attn_qk_bf16_native, avx512);
    QUIRE_SET(k, attn_softmax, avx512);
    QUIRE_SET(k, attn_pv_f32, avx512);
    QUIRE_SET(k, attn_pv_f16, avx512);
    QUIRE_SET(k, attn_pv_bf16, avx512);
    QUIRE_SET(k, attn_pv_bf16_native, avx512);
    QUIRE_SET(k, attn_merge, avx512);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, avx512);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, avx512);
}
