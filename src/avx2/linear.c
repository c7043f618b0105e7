/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - what the linear family adds to the kernel table of avx2. */
#include "base/kernel.h"

void quire_init_linear_avx2(struct quire_kernels *k)
{
    QUIRE_SET(k, quant_act_q8, avx2);
    QUIRE_SET(k, linear_f32_f32, avx2);
    QUIRE_SET(k, linear_f32_f16, avx2);
    QUIRE_SET(k, linear_f32_bf16, avx2);
    QUIRE_SET(k, linear_native_bf16, avx2);
#define X(name, ...)                                                                               \
    QUIRE_SET(k, linear_f32_##name, avx2);                                                         \
    QUIRE_SET(k, linear_q8_##name, avx2);
    QUIRE_QUANT_TYPES(X)
#undef X
}
