/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_dotprod adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_neon_dotprod(struct quire_kernels *k) { quire_init_linear_neon_dotprod(k); }
