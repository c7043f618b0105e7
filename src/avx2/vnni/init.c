/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level avx2_vnni. */
#include "kernels/kernels.h"

void qr_kernels_init_avx2_vnni(struct qr_kernels *k)
{
    qr_init_attn_avx2_vnni(k);
    qr_init_linear_avx2_vnni(k);
}
