/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon_i8mm adds to the kernel table. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_i8mm(struct qr_kernels *k) { qr_init_linear_neon_i8mm(k); }
