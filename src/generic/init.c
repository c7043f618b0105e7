/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level generic. */
#include "kernels/kernels.h"

void qr_kernels_init_generic(struct qr_kernels *k)
{
    qr_init_ops_generic(k);
    qr_init_recurrent_generic(k);
    qr_init_kv_generic(k);
    qr_init_attn_generic(k);
    qr_init_linear_generic(k);
}
