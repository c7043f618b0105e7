/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - computing one item of a plan. */
#ifndef QR_ATTENTION_ITEM_H
#define QR_ATTENTION_ITEM_H
#include "attention/plan.h"
#include "attention/tensor.h"

/* One layer's call, resolved once per member. */
struct qr_attention_call {
    struct quire_plan *plan;
    struct qr_plan_group *group;
    const struct quire_attention_config *config;
    struct quire_attention_args args; /* strides filled in */
    struct qr_attention_kernels kernels;
    const struct qr_kv_group *kv;
    struct qr_plan_scratch scratch; /* of this member */
};

/* Where the results of a call lie; lse is empty without one. */
struct qr_attention_extents {
    struct qr_extent out, lse;
};

/* quire_attention_check for a batch of n_tokens, which need not be the one the plan holds. */
quire_status qr_attention_check(const struct quire_plan *plan, size_t n_tokens,
                                const struct quire_attention_args *args,
                                struct qr_attention_extents *extents, struct quire_error *err);

/* Computes one item: of a tile, or of a cascade. */
void qr_attention_item(const struct qr_attention_call *call, const struct qr_plan_item *item);

#endif
