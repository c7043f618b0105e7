/* SPDX-License-Identifier: Apache-2.0 */
/* query_rows.c - converts query rows for the kernels and evaluates their masks per tile. */
#include "attention/query_rows.h"
#include "attention/config.h"
#include "attention/convert.h"
#include "attention/key_selection.h"
#include "attention/mask.h"
#include "attention/score_bias.h"
#include "attention/sparse.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS };

/* ---- queries */

/* Converts one query row for the kernels. The caller's rows may be misaligned: copy them first. */
static void load_query(const struct qr_tile_ctx *ctx, uint32_t r, uint32_t token, uint32_t head)
{
    const struct quire_attention_args *a = &ctx->call->args;
    const struct qr_thread_scratch *s = ctx->scratch;
    const struct qr_kernels *k = ctx->kernel_table;
    const size_t n = ctx->k_size, bytes = qr_query_bytes(a->q_dtype),
                 row = ctx->seq->first_token + token;
    const unsigned char *q =
        (const unsigned char *)a->q + (row * a->q_token_stride + head * a->q_head_stride) * bytes;
    const bool bf16 = ctx->kernels->round_q != NULL, int8 = ctx->kernels->quantize_q != NULL;
    const uint32_t rotation = ctx->call->group->kv->k_rotation;
    float *f32 = bf16 || int8 ? s->row : s->q + r * n;
    uint16_t *halves = (uint16_t *)(void *)s->q + r * n;
    if (a->q_dtype == QUIRE_KV_BF16 && bf16 && !rotation) {
        memcpy(halves, q, n * bytes);
        return;
    }
    if (a->q_dtype == QUIRE_KV_F32) {
        memcpy(f32, q, n * bytes);
    } else {
        memcpy(s->raw, q, n * bytes);
        qr_query_to_f32(k, a->q_dtype, f32, s->raw, n);
    }
    if (rotation)
        k->hadamard(f32, rotation, n);
    if (bf16)
        ctx->kernels->round_q(halves, f32, 1, n);
    if (int8)
        ctx->kernels->quantize_q((uint8_t *)s->q + r * qr_int4_query_bytes(n), f32, n);
    if (a->q_scale)
        s->row_scale[r] = a->q_scale[row * ctx->config->n_heads + head];
}

/* New tokens that row r sees through a tree mask. */
static uint64_t *row_tree(const struct qr_tile_ctx *ctx, uint32_t r)
{
    return ctx->scratch->tree + (size_t)r * ctx->seq->tree_words;
}

/* Whether row r sees a new token whose position does not follow from its cache slot. */
static bool is_branch(const struct qr_tile_ctx *ctx, uint32_t r)
{
    const uint64_t *tree = row_tree(ctx, r);
    for (uint32_t i = 0; i < ctx->seq->tree_words; i++)
        for (uint64_t left = tree[i]; left; left &= left - 1) {
            const uint32_t token = i * 64 + (uint32_t)__builtin_ctzll(left);
            if (ctx->seq->depths[token] != token)
                return true;
        }
    return false;
}

static void record_mask(struct qr_tile_ctx *ctx, uint32_t r, const struct qr_token_mask *k)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    s->pos[r] = k->pos;
    s->lo[r] = k->range.lo;
    s->hi[r] = k->range.hi;
    ctx->any = qr_key_range_union(ctx->any, qr_token_mask_range(k));
    ctx->all.lo = k->range.lo > ctx->all.lo ? k->range.lo : ctx->all.lo;
    ctx->all.hi = k->range.hi < ctx->all.hi ? k->range.hi : ctx->all.hi;
    ctx->tree |= k->drafted.lo < k->drafted.hi;
}

/* Computes the mask of row r, the first row of its token, and what follows from it for all rows of
 * the token. */
static struct qr_token_mask token_mask(struct qr_tile_ctx *ctx, uint32_t r, uint32_t token)
{
    const struct quire_attention_config *c = ctx->config;
    const bool masked = c->kind == QUIRE_ATTENTION_DECODER && ctx->seq->tree;
    const struct qr_token_mask k =
        qr_token_mask(c, ctx->seq, token, masked ? row_tree(ctx, r) : NULL);
    if (masked)
        ctx->scratch->branch[r] = (c->alibi_slopes || c->relative_bias) && is_branch(ctx, r);
    return k;
}

void qr_query_rows_load(struct qr_tile_ctx *ctx)
{
    const struct quire_attention_config *c = ctx->config;
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t ratio = ctx->gqa_ratio;
    struct qr_token_mask mask = { .pos = 0 };
    for (uint32_t i = 0; i < ctx->item->n_rows; i++) {
        const uint32_t row = ctx->item->row + i, token = row / ratio, r = ctx->n_rows++,
                       head = ctx->item->kv_head * ratio + row % ratio;
        if (i == 0 || row % ratio == 0) {
            mask = token_mask(ctx, r, token);
        } else if (mask.drafted.lo < mask.drafted.hi) {
            memcpy(row_tree(ctx, r), row_tree(ctx, r - 1), ctx->seq->tree_words * sizeof *s->tree);
            s->branch[r] = s->branch[r - 1];
        }
        load_query(ctx, r, token, head);
        record_mask(ctx, r, &mask);
        if (ctx->call->selection)
            s->selected[r] =
                qr_key_selection_row(ctx->call->selection, ctx->seq->first_token + token,
                                     ctx->item->kv_head, c->n_kv_heads);
        if (c->alibi_slopes)
            s->slope[r] = c->alibi_slopes[head];
        if (ctx->call->score_bias)
            s->relative[r] = qr_score_bias_row(ctx->call->score_bias, ctx->seq->first_token + token,
                                               head, c->n_heads);
        if (c->relative_bias)
            s->relative[r] = c->relative_bias + head * qr_attention_relative_row(c);
    }
}

/* ---- masks */

/* Tile mask at `key` of row r's tree mask, whose bit i is new token i: 64 bits at any offset. */
static uint64_t tree_tile_mask(const struct qr_tile_ctx *ctx, uint32_t r, uint32_t key)
{
    const uint32_t first = qr_seq_first_pos(ctx->seq), n = ctx->seq->tree_words;
    if (key + TILE <= first)
        return 0;
    const uint64_t *tree = row_tree(ctx, r);
    const uint32_t bit = key + TILE - first, above = bit / 64, shift = bit % 64;
    uint64_t seen = above && above <= n ? tree[above - 1] >> shift : 0;
    if (shift && above < n)
        seen |= tree[above] << (64 - shift);
    return seen;
}

uint64_t qr_query_rows_visible(const struct qr_tile_ctx *ctx, uint32_t key)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t n_rows = ctx->n_rows;
    const uint64_t listed = qr_sparse_tile_mask(ctx->list, ctx->block_size, key);
    if (!listed)
        return 0;
    const bool selects = ctx->call->selection != NULL;
    if (!selects && key >= ctx->all.lo && key + TILE <= ctx->all.hi) {
        for (uint32_t r = 0; r < n_rows; r++)
            s->visible[r] = listed;
        return listed;
    }
    uint64_t seen = 0;
    for (uint32_t r = 0; r < n_rows; r++)
        s->visible[r] = qr_key_range_tile_mask(s->lo[r], s->hi[r], key) & listed;
    for (uint32_t r = 0; ctx->tree && r < n_rows; r++)
        s->visible[r] |= tree_tile_mask(ctx, r, key) & listed;
    for (uint32_t r = 0; selects && r < n_rows; r++)
        s->visible[r] &= s->selected[r][key / TILE];
    for (uint32_t r = 0; r < n_rows; r++)
        seen |= s->visible[r];
    return seen;
}
