/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level avx2 adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_avx2(struct quire_kernels *k)
{
    quire_init_ops_avx2(k);
    quire_init_kv_avx2(k);
    quire_init_attn_avx2(k);
    quire_init_linear_avx2(k);
}
