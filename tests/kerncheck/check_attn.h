/* SPDX-License-Identifier: Apache-2.0 */
/* check_attn.h - what the files of attention checks share. */
#ifndef QUIRE_TESTS_CHECK_ATTN_H
#define QUIRE_TESTS_CHECK_ATTN_H
#include "kerncheck.h"

/* Visible keys of a row: nothing, everything, a range, a prefix, or with holes. */
uint64_t attn_random_visible(struct kc_env *env);

void attn_check_unpack(struct kc_env *env, kc_fn fn);
void attn_check_qk_codes(struct kc_env *env, kc_fn fn);
void attn_check_pv_codes(struct kc_env *env, kc_fn fn);
void attn_check_softmax(struct kc_env *env, kc_fn fn);
void attn_check_merge(struct kc_env *env, kc_fn fn);

#endif
