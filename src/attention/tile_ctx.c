/* SPDX-License-Identifier: Apache-2.0 */
/* tile_ctx.c - sets up the execution context of a work item. */
#include "attention/tile_ctx.h"
#include "attention/sparse.h"

enum { COLUMN = QR_COLUMN_KEYS };

static void locate_kv(struct qr_tile_ctx *ctx, const struct qr_attention_call *call,
                      const struct qr_work_item *item)
{
    const struct qr_plan_group *g = call->group;
    const struct qr_kv_layout *l = &g->kv->layout;
    const struct qr_seq_blocks *used = &g->seq_blocks[item->seq];
    ctx->layout = l;
    ctx->kv_head = qr_kv_head(g->kv, call->args.layer, item->kv_head);
    ctx->block_ids = g->block_ids + used->offset;
    ctx->first_block = used->first;
    ctx->block_size = (uint32_t)l->block_size;
    ctx->end = (used->first + used->count) * ctx->block_size;
    ctx->k_column_bytes = qr_kv_k_column(l, COLUMN % l->group);
    ctx->v_column_bytes = l->latent ? 0 : qr_kv_v_column(l, COLUMN % l->group) - l->k_bytes;
}

struct qr_tile_ctx qr_tile_ctx_init(const struct qr_attention_call *call,
                                    const struct qr_work_item *item)
{
    const struct qr_plan_group *g = call->group;
    const struct quire_kv_cache *kv = call->plan->kv;
    const uint32_t layer = call->args.layer, head = item->kv_head;
    struct qr_tile_ctx ctx = { .call = call,
                               .kernels = call->kernels,
                               .scratch = &call->scratch,
                               .config = call->config,
                               .kernel_table = g->kernel_table,
                               .item = item,
                               .seq = &call->plan->seqs[item->seq] };
    ctx.list = qr_sparse_list(g, item->seq, head);
    ctx.all.hi = UINT32_MAX;
    locate_kv(&ctx, call, item);
    ctx.k_size = (uint32_t)ctx.layout->k_size;
    ctx.v_size = (uint32_t)ctx.layout->v_size;
    ctx.v_width = g->v_width;
    ctx.gqa_ratio = g->gqa_ratio;
    ctx.scaled_q = call->args.q_scale != NULL;
    ctx.k_scale = qr_kv_k_scale(kv, g->kv_group, layer, head);
    ctx.v_scale = qr_kv_v_scale(kv, g->kv_group, layer, head);
    /* with row scales of V, l sums unrounded weights anyway */
    ctx.exact = call->args.lse && call->kernels->p_bf16 && !ctx.layout->v_scales;
    return ctx;
}
