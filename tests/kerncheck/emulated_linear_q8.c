/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_linear_q8.c - the linear templates of int8 activations over emulated vectors. */
#include "emulated.h"
#include "simd/vec_scalar.h"
#define QR_ISA         emulated
#define LINEAR_Q8_ROWS 4
#define LINEAR_Q8_VECS 8
#include "template/linear_act_tpl.h"
#include "template/linear_q8_tpl.h"

void qr_init_linear_q8_emulated(struct qr_kernels *k)
{
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, emulated);
    QR_INTEGER_TYPES(X)
#undef X
}
