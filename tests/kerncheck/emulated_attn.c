/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_attn.c - the attention templates over emulated vectors, for any host and sanitizers. */
#include "emulated.h"
#include "simd/vec_scalar.h"
/* vec_math.h bf16_from_codes.h and int4_dot.h build on the vec header, the templates on all */
#include "simd/bf16_from_codes.h"
#include "simd/int4_dot.h"
#include "simd/vec_math.h"
#define QR_ISA emulated
#define ATTN_F32
#include "template/attn_tile_tpl.h"
#define ATTN_F16
#include "template/attn_tile_tpl.h"
#define ATTN_BF16
#include "template/attn_tile_tpl.h"
#define ATTN_BF16_NATIVE
#include "template/attn_codes_tpl.h"
#include "template/attn_int4_tpl.h"
#include "template/attn_softmax_tpl.h"
#include "template/attn_tile_tpl.h"
#include "template/attn_transpose_tpl.h"

void qr_init_attn_emulated(struct qr_kernels *k)
{
#define X(ret, name, params) QR_SET_KERNEL(k, name, emulated);
    QR_KERNELS_ATTN(X)
#undef X
}
