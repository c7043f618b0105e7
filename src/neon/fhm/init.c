/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_fhm adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_neon_fhm(struct quire_kernels *k)
{
    (void)k; /* room for kernels of this level */
}
