/* SPDX-License-Identifier: Apache-2.0 */
/* splitkv.c - merges partial softmax states; the last thread to finish a tile reduces them. */
#include "attention/splitkv.h"
#include "attention/store.h"

struct qr_softmax_state qr_splitkv_partial(const struct qr_attention_call *call, int32_t reduction,
                                           uint32_t n_rows, uint32_t i)
{
    const struct qr_plan_group *g = call->group;
    float *p =
        call->plan->partials + g->reductions[reduction].offset + i * qr_partial_floats(g, n_rows);
    return (struct qr_softmax_state){ p, p + n_rows, p + 2 * n_rows, p + 3 * n_rows };
}

void qr_splitkv_merge(const struct qr_attention_call *call, uint32_t n_rows,
                      const struct qr_softmax_state *acc, const struct qr_softmax_state *part)
{
    const uint32_t width = call->group->v_width;
    call->kernels->merge(&(struct qr_attn_merge_args){ acc->m, acc->l, acc->l_exact, acc->o,
                                                       part->m, part->l, part->l_exact, part->o,
                                                       width, (int)n_rows, (int)width });
}

void qr_splitkv_reduce(const struct qr_tile_ctx *ctx)
{
    const struct qr_attention_call *call = ctx->call;
    const int32_t index = ctx->item->reduction;
    struct qr_reduction *reduction = &call->group->reductions[index];
    if (__atomic_add_fetch(&reduction->n_done, 1, __ATOMIC_ACQ_REL) != reduction->n_items)
        return;
    __atomic_store_n(&reduction->n_done, 0, __ATOMIC_RELAXED); /* for the next layer */
    const struct qr_softmax_state acc = qr_splitkv_partial(call, index, ctx->n_rows, 0);
    for (uint32_t i = 1; i < reduction->n_partials; i++) {
        const struct qr_softmax_state part = qr_splitkv_partial(call, index, ctx->n_rows, i);
        qr_splitkv_merge(call, ctx->n_rows, &acc, &part);
    }
    qr_store_rows(ctx, &acc);
}
