/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - what the linear family adds to the kernel table of avx512. */
#include "base/kernel.h"

void quire_init_linear_avx512(struct quire_kernels *k)
{
    QUIRE_SET(k, quant_act_q8, avx512);
    QUIRE_SET(k, linear_f32_f32, avx512);
    QUIRE_SET(k, linear_f32_f16, avx512);
    QUIRE_SET(k, linear_f32_bf16, avx512);
    QUIRE_SET(k, linear_native_bf16, avx512);
#define X(name, ...)                                                                               \
    QUIRE_SET(k, linear_f32_##name, avx512);                                                       \
    QUIRE_SET(k, linear_q8_##name, avx512);
    QUIRE_QUANT_TYPES(X)
#undef X
}
