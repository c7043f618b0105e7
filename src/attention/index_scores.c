/* SPDX-License-Identifier: Apache-2.0 */
/* index_scores.c - scores of an indexer: index queries of a token against the cached index keys. */
#include "attention/index_scores.h"
#include "attention/kv_tile.h"
#include "attention/mask.h"
#include "attention/plan.h"
#include "attention/query_rows.h"
#include "attention/tile_ctx.h"
#include <float.h>
#include <math.h>

enum { TILE = QR_TILE_KEYS };

uint32_t qr_index_key_end(const struct qr_index_queries *x, uint32_t seq, uint32_t token)
{
    return qr_tokens_mask_range(&x->plan->groups[x->group].config, &x->plan->seqs[seq], token,
                                token)
        .hi;
}

/* Dot products of rows [first, first + n) with the tile's keys, in scratch->s. */
static void multiply(const struct qr_tile_ctx *ctx, const struct qr_kv_tile *t, uint32_t first,
                     uint32_t n)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    const struct qr_attn_qk_args qk = { .q = s->q + (size_t)first * ctx->k_size,
                                        .k = { t->k[0], t->k[1], t->k[2], t->k[3] },
                                        .k_stride = t->k_stride,
                                        .s = s->s,
                                        .n_rows = (int)n,
                                        .head_size = (int)ctx->k_size,
                                        .next = first == 0 ? t->prefetch_k : NULL,
                                        .next_l2 = ctx->kernels->next_l2 };
    ctx->kernels->qk(&qk);
}

/* Multiplies the products of a row by the scales of its keys, in place. */
static void apply_key_scales(const struct qr_tile_ctx *ctx, const struct qr_kv_tile *t, float *dots)
{
    for (int i = 0; t->k_scale && i < TILE; i++)
        dots[i] *= t->k_scale[i];
    for (int i = 0; ctx->k_scale != 1 && i < TILE; i++)
        dots[i] *= ctx->k_scale;
}

/* Adds weight * max(dots, 0). */
static void add_head(float *scores, float weight, const float *dots)
{
    for (int i = 0; i < TILE; i++)
        scores[i] += weight * (dots[i] > 0 ? dots[i] : 0);
}

/* Replaces values that are not finite, and the scores of keys that are not visible. */
static void finish(float *scores, uint64_t visible)
{
    for (int i = 0; i < TILE; i++) {
        const float v = scores[i];
        scores[i] = !(visible >> i & 1)             ? -INFINITY
                    : v >= -FLT_MAX && v <= FLT_MAX ? v
                    : v > FLT_MAX                   ? FLT_MAX
                                                    : -FLT_MAX;
    }
}

/* One tile: heads [head, head + ctx->n_rows) of the token, loaded in ctx. */
static void score_tile(const struct qr_index_queries *x, const struct qr_tile_ctx *ctx,
                       uint32_t head, uint32_t key, float *scores, size_t head_stride)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t heads = ctx->config->n_heads;
    const uint32_t chunk = (uint32_t)ctx->kernel_table->attn_call_rows;
    const size_t row = (size_t)(ctx->seq->first_token + ctx->item->row / heads) * heads + head;
    const bool last = head + ctx->n_rows == heads;
    const uint64_t visible = qr_query_rows_visible(ctx, key);
    for (uint32_t i = 0; i < TILE && x->weights && head == 0; i++)
        scores[key + i] = 0;
    if (visible) {
        struct qr_kv_tile t;
        qr_kv_tile_load(ctx, key, visible, false, &t);
        for (uint32_t r = 0; r < ctx->n_rows; r++) {
            if (r % chunk == 0)
                multiply(ctx, &t, r, ctx->n_rows - r < chunk ? ctx->n_rows - r : chunk);
            float *dots = s->s + (size_t)(r % chunk) * TILE;
            apply_key_scales(ctx, &t, dots);
            if (x->weights)
                add_head(scores + key, x->weights[row + r], dots);
            else
                for (uint32_t i = 0; i < TILE; i++)
                    scores[(head + r) * head_stride + key + i] = dots[i];
        }
    }
    if (x->weights && last)
        finish(scores + key, visible);
    for (uint32_t r = 0; !x->weights && r < ctx->n_rows; r++)
        finish(scores + (head + r) * head_stride + key, visible);
}

void qr_index_scores(const struct qr_index_queries *x, uint32_t seq, uint32_t token, uint32_t begin,
                     uint32_t end, float *scores, size_t head_stride, uint32_t rank)
{
    struct quire_plan *plan = x->plan;
    struct qr_plan_group *g = &plan->groups[x->group];
    const uint32_t heads = g->config.n_heads;
    struct qr_attention_call call = { .plan = plan,
                                      .group = g,
                                      .config = &g->config,
                                      .kernels = &g->kernels[QUIRE_COMPUTE_F32],
                                      .args = { .group = x->group,
                                                .layer = x->layer,
                                                .q = x->q,
                                                .q_token_stride = heads * g->config.head_size,
                                                .q_head_stride = g->config.head_size,
                                                .q_dtype = QUIRE_KV_F32 } };
    size_t bytes;
    call.scratch =
        qr_thread_scratch_layout(plan, plan->scratch + rank * plan->scratch_bytes, &bytes);
    if (g->kernel_table->attn_begin)
        g->kernel_table->attn_begin();
    for (uint32_t head = 0; head < heads; head += g->tile_rows) {
        const uint32_t n = heads - head < g->tile_rows ? heads - head : g->tile_rows;
        const struct qr_work_item item = {
            .seq = seq, .row = token * heads + head, .n_rows = n, .reduction = -1
        };
        struct qr_tile_ctx ctx = qr_tile_ctx_init(&call, &item);
        qr_query_rows_load(&ctx);
        for (uint32_t key = begin; key < end; key += TILE)
            score_tile(x, &ctx, head, key, scores, head_stride);
    }
    if (g->kernel_table->attn_end)
        g->kernel_table->attn_end();
}
