/* SPDX-License-Identifier: Apache-2.0 */
/* amx_order.h - reference of the sums of avx512_amx, operation by operation. */
#ifndef QR_TESTS_KERNCHECK_AMX_ORDER_H
#define QR_TESTS_KERNCHECK_AMX_ORDER_H
#include "kerncheck.h"

/* Whether the level adds products of two bf16 in this order instead of that of rule N3. */
bool kc_is_amx(const struct kc_env *env);

/* acc plus the products of n bf16 values a[i * a_step] and b[i * b_step] whose bit of `seen` is set
 * (NULL: all). Per 32 values, the even and the odd products are two chains from zero on; their sum
 * is added to acc. */
float kc_amx_dot(float acc, const float *a, size_t a_step, const float *b, size_t b_step, int n,
                 const uint64_t *seen);

/* Softmax of finite scores with bf16 weights (a->p_bf16). */
void kc_amx_softmax(const struct qr_attn_softmax_args *a);

#endif
