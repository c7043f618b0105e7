/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level avx2. */
#include "kernels/kernels.h"

void qr_kernels_init_avx2(struct qr_kernels *k)
{
    qr_init_ops_avx2(k);
    qr_init_recurrent_avx2(k);
    qr_init_kv_avx2(k);
    qr_init_attn_avx2(k);
    qr_init_linear_avx2(k);
}
