/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level avx512. */
#include "kernels/kernels.h"

void qr_kernels_init_avx512(struct qr_kernels *k)
{
    qr_init_ops_avx512(k);
    qr_init_recurrent_avx512(k);
    qr_init_kv_avx512(k);
    qr_init_attn_avx512(k);
    qr_init_linear_avx512(k);
}
