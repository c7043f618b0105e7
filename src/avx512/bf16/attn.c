/* SPDX-License-Identifier: Apache-2.0 */
/* attn.c - bf16 x bf16 tiles on VDPBF16PS, and softmax on VCVTNEPS2BF16. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QR_ISA avx512_bf16
#define ATTN_BF16_NATIVE
#include "template/attn_softmax_tpl.h"
#include "template/attn_tile_tpl.h"

void qr_init_attn_avx512_bf16(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, attn_qk_bf16_native, avx512_bf16);
    QR_SET_KERNEL(k, attn_softmax, avx512_bf16);
    QR_SET_KERNEL(k, attn_pv_bf16_native, avx512_bf16);
    QR_SET_KERNEL(k, attn_merge, avx512_bf16);
    QR_SET_KERNEL(k, attn_qk_fp8_e4m3, avx512_bf16);
    QR_SET_KERNEL(k, attn_pv_fp8_e4m3, avx512_bf16);
    QR_SET_KERNEL(k, attn_unpack_fp8_e4m3, avx512_bf16);
    QR_SET_KERNEL(k, attn_qk_fp8_e5m2, avx512_bf16);
    QR_SET_KERNEL(k, attn_pv_fp8_e5m2, avx512_bf16);
    QR_SET_KERNEL(k, attn_unpack_fp8_e5m2, avx512_bf16);
    QR_SET_KERNEL(k, attn_qk_int8, avx512_bf16);
    QR_SET_KERNEL(k, attn_pv_int8, avx512_bf16);
    QR_SET_KERNEL(k, attn_unpack_int8, avx512_bf16);
    QR_SET_KERNEL(k, attn_quantize_q_int4, avx512_bf16);
    QR_SET_KERNEL(k, attn_qk_int4, avx512_bf16);
    QR_SET_KERNEL(k, attn_pv_int4, avx512_bf16);
    QR_SET_KERNEL(k, attn_unpack_int4, avx512_bf16);
}
