/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - what the linear family adds to the generic kernel table. */
#include "base/kernel.h"

void quire_init_linear_generic(struct quire_kernels *k)
{
    QUIRE_SET(k, quant_act_q8, generic);
    QUIRE_SET(k, linear_f32_f32, generic);
    QUIRE_SET(k, linear_f32_f16, generic);
    QUIRE_SET(k, linear_f32_bf16, generic);
    QUIRE_SET(k, linear_native_bf16, generic);
#define X(name, ...)                                                                               \
    QUIRE_SET(k, linear_f32_##name, generic);                                                      \
    QUIRE_SET(k, linear_q8_##name, generic);
    QUIRE_QUANT_TYPES(X)
#undef X
}
