/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level neon_i8mm. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_i8mm(struct qr_kernels *k) { qr_init_linear_neon_i8mm(k); }
