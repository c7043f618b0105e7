/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level avx2_vnni adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_avx2_vnni(struct quire_kernels *k) { quire_init_linear_avx2_vnni(k); }
