/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_bf16 adds to the kernel table. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_bf16(struct qr_kernels *k)
{
    (void)k; /* room for kernels of this level */
}
