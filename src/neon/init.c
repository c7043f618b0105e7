/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the level neon adds to the kernel table. */
#include "base/kernel.h"

void quire_kernels_init_neon(struct quire_kernels *k)
{
    quire_init_ops_neon(k);
    quire_init_kv_neon(k);
    quire_init_attn_neon(k);
    quire_init_linear_neon(k);
}
