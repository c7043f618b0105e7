/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn.h - checkers of the attention family. */
#ifndef QR_TESTS_KERNCHECK_CHECK_ATTN_H
#define QR_TESTS_KERNCHECK_CHECK_ATTN_H
#include "kerncheck.h"

/* Random visible keys of a row: none, all, a range, a prefix, or a set with holes. */
uint64_t attn_random_visible(struct kc_env *env);

void attn_check_unpack(struct kc_env *env, kc_fn fn);
void attn_check_qk_codes(struct kc_env *env, kc_fn fn);
void attn_check_pv_codes(struct kc_env *env, kc_fn fn);
void attn_check_quantize_q_int4(struct kc_env *env, kc_fn fn);
void attn_check_qk_int4(struct kc_env *env, kc_fn fn);
void attn_check_pv_int4(struct kc_env *env, kc_fn fn);
void attn_check_unpack_int4(struct kc_env *env, kc_fn fn);
void attn_check_softmax(struct kc_env *env, kc_fn fn);
void attn_check_merge(struct kc_env *env, kc_fn fn);

#endif
