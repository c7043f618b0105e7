/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - what the linear family adds to the kernel table of neon. */
#include "base/kernel.h"

void quire_init_linear_neon(struct quire_kernels *k)
{
    QUIRE_SET(k, quant_act_q8, neon);
    QUIRE_SET(k, linear_f32_f32, neon);
    QUIRE_SET(k, linear_f32_f16, neon);
    QUIRE_SET(k, linear_f32_bf16, neon);
    QUIRE_SET(k, linear_native_bf16, neon);
#define X(name, ...)                                                                               \
    QUIRE_SET(k, linear_f32_##name, neon);                                                         \
    QUIRE_SET(k, linear_q8_##name, neon);
    QUIRE_QUANT_TYPES(X)
#undef X
}
