/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_fhm adds to the kernel table. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_fhm(struct qr_kernels *k)
{
    (void)k; /* room for kernels of this level */
}
