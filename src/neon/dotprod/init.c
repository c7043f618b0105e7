/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_dotprod adds to the kernel table. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_dotprod(struct qr_kernels *k) { qr_init_linear_neon_dotprod(k); }
