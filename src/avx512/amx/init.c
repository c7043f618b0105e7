/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level avx512_amx adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_avx512_amx(struct quire_kernels *k)
{
    quire_init_attn_avx512_amx(k);
    quire_init_linear_avx512_amx(k);
}
