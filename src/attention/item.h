/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - computing one item of a plan. */
#ifndef QUIRE_ATTENTION_ITEM_H
#define QUIRE_ATTENTION_ITEM_H
#include "attention/plan.h"

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

void qr_attention_item(const struct qr_attention_call *call, const struct qr_plan_item *item);

#endif
