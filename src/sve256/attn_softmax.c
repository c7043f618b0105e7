/* SPDX-License-Identifier: Apache-2.0 */
/* attn_softmax.c - softmax, span merge and transposition for sve256, and its attn entries. */
#include "simd/vec_sve.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QR_ISA sve256
#include "template/attn_softmax_tpl.h"
#include "template/attn_transpose_tpl.h"

void qr_init_attn_sve256(struct qr_kernels *k)
{
#define X(ret, name, params) QR_SET_KERNEL(k, name, sve256);
    QR_KERNELS_ATTN(X)
#undef X
}
