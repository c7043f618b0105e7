/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level avx512 adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_avx512(struct quire_kernels *k)
{
    quire_init_ops_avx512(k);
    quire_init_kv_avx512(k);
    quire_init_attn_avx512(k);
    quire_init_linear_avx512(k);
}
