/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - kernel table entries of the level neon_dotprod. */
#include "kernels/kernels.h"

void qr_kernels_init_neon_dotprod(struct qr_kernels *k) { qr_init_linear_neon_dotprod(k); }
