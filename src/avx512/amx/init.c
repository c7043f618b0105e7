/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level avx512_amx. */
#include "kernels/kernels.h"

void qr_kernels_init_avx512_amx(struct qr_kernels *k)
{
    qr_init_attn_avx512_amx(k);
    qr_init_linear_avx512_amx(k);
}
