/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level generic adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_generic(struct quire_kernels *k)
{
    quire_init_ops_generic(k);
    quire_init_kv_generic(k);
    quire_init_attn_generic(k);
    quire_init_linear_generic(k);
}
