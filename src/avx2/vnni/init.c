/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level avx2_vnni adds to the kernel table. */
#include "kernels/kernels.h"

void qr_kernels_init_avx2_vnni(struct qr_kernels *k) { qr_init_linear_avx2_vnni(k); }
