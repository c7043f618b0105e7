/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level neon. */
#include "kernels/kernels.h"

void qr_kernels_init_neon(struct qr_kernels *k)
{
    qr_init_ops_neon(k);
    qr_init_recurrent_neon(k);
    qr_init_kv_neon(k);
    qr_init_attn_neon(k);
    qr_init_linear_neon(k);
}
