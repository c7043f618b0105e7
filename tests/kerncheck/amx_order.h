/* SPDX-License-Identifier: Apache-2.0 */
/* amx_order.h - the sums of the level avx512_amx, operation by operation. */
#ifndef QUIRE_TESTS_AMX_ORDER_H
#define QUIRE_TESTS_AMX_ORDER_H
#include "kerncheck.h"

/* Does the level add products of two bf16 in this order, and not as rule N3 has it? */
bool kc_is_amx(const struct kc_env *env);

/* acc plus the products of n bf16 values, a[i * a_step] and b[i * b_step], those of `seen` bits only (NULL: all): per 32
 * of them, one chain of the even and one of the odd ones from zero on, their sum, and acc plus that. */
float kc_amx_dot(float acc, const float *a, size_t a_step, const float *b, size_t b_step, int n,
                 const uint64_t *seen);

/* Softmax with weights of bf16 (a->p_bf16) of finite scores. */
void kc_amx_softmax(const struct qr_attn_softmax_args *a);

#endif
