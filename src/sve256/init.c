/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level sve256. */
#include "kernels/kernels.h"

void qr_kernels_init_sve256(struct qr_kernels *k)
{
    qr_init_ops_sve256(k);
    qr_init_recurrent_sve256(k);
    qr_init_kv_sve256(k);
    qr_init_attn_sve256(k);
    qr_init_linear_sve256(k);
}
