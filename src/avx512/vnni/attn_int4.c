/* SPDX-License-Identifier: Apache-2.0 */
/* attn_int4.c - attention over int4 tiles for avx512_vnni. */
#include "simd/vec_avx512.h"
/* int4_dot.h builds on the vec header */
#include "simd/int4_dot.h"
#define QR_ISA avx512_vnni
#include "template/attn_int4_tpl.h"

void qr_init_attn_avx512_vnni(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, attn_quantize_q_int4, avx512_vnni);
    QR_SET_KERNEL(k, attn_qk_int4, avx512_vnni);
    QR_SET_KERNEL(k, attn_pv_int4, avx512_vnni);
    QR_SET_KERNEL(k, attn_unpack_int4, avx512_vnni);
}
