/* SPDX-License-Identifier: Apache-2.0 */
/* position_bias.c - ALiBi slopes, distances and relative bias rows for the softmax kernel. */
#include "attention/position_bias.h"
#include "attention/config.h"
#include "attention/mask.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS };

/* Relative bias of the 64 distances from `first` on: a pointer into the table if it covers them,
 * else a copy in `out` with distances clamped to the range. */
static const float *relative_row(const float *table, int64_t range, int64_t first, float *out)
{
    if (first >= -range && first + TILE - 1 <= range)
        return table + (range + first);
    for (int64_t j = 0; j < TILE; j++) {
        const int64_t d = first + j;
        out[j] = table[d < -range ? 0 : d > range ? 2 * range : range + d];
    }
    return out;
}

/* Position of the key in slot `at` of the sequence. */
static uint32_t key_position(const struct quire_attention_config *c, const struct qr_attn_seq *s,
                             uint32_t at)
{
    const uint32_t first = qr_seq_first_pos(s);
    if (s->shard.world > 1) /* no trees there */
        return qr_key_shard_pos(&s->shard, at);
    return at < first ? at : qr_seq_pos(c, s, at - first);
}

/* Whether the positions of row r and of the keys at `key` do not follow from their cache slots: the
 * cache holds a rank's share of the keys, or the tile holds new tokens, and a token that row r sees
 * is on a branch of the tree. */
static bool is_branch(const struct qr_tile_ctx *ctx, uint32_t r, uint32_t key)
{
    if (ctx->seq->shard.world > 1)
        return true;
    return ctx->tree && key + TILE > qr_seq_first_pos(ctx->seq) && ctx->scratch->branch[r];
}

/* Computes all position terms of a row on a branch, key by key. */
static void branch_row(const struct qr_tile_ctx *ctx, uint32_t r, uint32_t key, float *out)
{
    const struct quire_attention_config *c = ctx->config;
    const struct qr_thread_scratch *s = ctx->scratch;
    const int64_t range = c->relative_range;
    for (uint32_t j = 0; j < TILE; j++) {
        if (!(s->visible[r] >> j & 1)) {
            out[j] = 0;
            continue;
        }
        const int64_t d = (int64_t)key_position(c, ctx->seq, key + j) - s->pos[r];
        out[j] = c->alibi_slopes ? s->slope[r] * (float)d : 0;
        if (c->relative_bias)
            out[j] += s->relative[r][range + (d < -range ? -range : d > range ? range : d)];
    }
}

/* The bias row of row i of a kernel call, row r of the work item, which is not on a branch. */
static const float *chain_row(const struct qr_tile_ctx *ctx, uint32_t i, uint32_t r, uint32_t key)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    float *out = s->bias + (size_t)i * TILE;
    if (ctx->call->score_bias)
        return s->relative[r] + key;
    if (ctx->config->relative_bias)
        return relative_row(s->relative[r], ctx->config->relative_range, (int64_t)key - s->pos[r],
                            out);
    memset(out, 0, TILE * sizeof *out);
    return out;
}

void qr_position_bias_fill(const struct qr_tile_ctx *ctx, uint32_t key, uint32_t first,
                           struct qr_attn_softmax_args *a)
{
    const struct quire_attention_config *c = ctx->config;
    const struct qr_thread_scratch *s = ctx->scratch;
    const bool rows = c->relative_bias || ctx->call->score_bias;
    bool branches = false;
    if (!c->alibi_slopes && !rows)
        return;
    for (uint32_t i = 0; i < (uint32_t)a->n_rows; i++) {
        const uint32_t r = first + i;
        const bool branch = is_branch(ctx, r, key);
        branches |= branch;
        s->distance[i] = (int64_t)key - s->pos[r];
        s->call_slope[i] = c->alibi_slopes && !branch ? s->slope[r] : 0;
        if (branch) {
            branch_row(ctx, r, key, s->bias + (size_t)i * TILE);
            s->bias_rows[i] = s->bias + (size_t)i * TILE;
        } else if (rows || ctx->tree) {
            s->bias_rows[i] = chain_row(ctx, i, r, key);
        }
    }
    a->slope = c->alibi_slopes ? s->call_slope : NULL;
    a->distance = s->distance;
    a->bias = rows || branches ? s->bias_rows : NULL;
}
