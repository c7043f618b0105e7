/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - the query rows of an item: their values, the keys they see, and their position bias. */
#include "attention/convert.h"
#include "attention/run.h"
#include "attention/sparse.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS };

/* ---- loading */

/* One query as the kernels want it. Rows may be misaligned, so they are copied first. */
static void load_query(const struct qr_run *run, uint32_t r, uint32_t token, uint32_t head)
{
    const struct qr_attention_call *call = run->call;
    const struct quire_attention_args *a = &call->args;
    const struct qr_plan_scratch *s = &call->scratch;
    const struct qr_kernels *k = call->group->table;
    const size_t n = run->k_size, bytes = qr_query_bytes(a->q_dtype),
                 row = run->seq->first_token + token;
    const unsigned char *q =
        (const unsigned char *)a->q + (row * a->q_token_stride + head * a->q_head_stride) * bytes;
    const bool bf16 = call->kernels.narrow_q != NULL;
    float *f32 = bf16 ? s->row : s->q + r * n;
    uint16_t *halves = (uint16_t *)(void *)s->q + r * n;
    if (a->q_dtype == QUIRE_KV_BF16 && bf16) {
        memcpy(halves, q, n * bytes);
        return;
    }
    if (a->q_dtype == QUIRE_KV_F32) {
        memcpy(f32, q, n * bytes);
    } else {
        memcpy(s->raw, q, n * bytes);
        qr_query_widen(k, a->q_dtype, f32, s->raw, n);
    }
    if (bf16)
        call->kernels.narrow_q(halves, f32, 1, n);
    if (a->q_scale)
        s->row_scale[r] = a->q_scale[row * call->config->n_heads + head];
}

static void note_keys(struct qr_run *run, uint32_t r, const struct qr_token_keys *k)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    s->pos[r] = k->pos;
    s->lo[r] = k->range.lo;
    s->hi[r] = k->range.hi;
    s->tree[r] = k->tree;
    run->any = qr_key_union(run->any, qr_token_keys_range(run->seq, k));
    run->all.lo = k->range.lo > run->all.lo ? k->range.lo : run->all.lo;
    run->all.hi = k->range.hi < run->all.hi ? k->range.hi : run->all.hi;
    run->tree |= k->tree != 0;
}

void qr_rows_load(struct qr_run *run)
{
    const struct quire_attention_config *c = run->call->config;
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t ratio = run->call->group->ratio;
    struct qr_token_keys keys = { .pos = 0 };
    for (uint32_t i = 0; i < run->item->n_rows; i++) {
        const uint32_t row = run->item->row + i, token = row / ratio, r = run->n_rows++,
                       head = run->item->kv_head * ratio + row % ratio;
        if (i == 0 || row % ratio == 0)
            keys = qr_token_keys(c, run->seq, token);
        load_query(run, r, token, head);
        note_keys(run, r, &keys);
        if (c->alibi_slopes)
            s->slope[r] = c->alibi_slopes[head];
        if (c->relative_bias)
            s->relative[r] = c->relative_bias + head * qr_attention_relative_row(c);
    }
}

/* ---- what they see of a tile */

/* Bit i of `tree` is key first + i; as bits of the tile at `key`. */
static uint64_t shift_to(uint64_t tree, uint32_t first, uint32_t key)
{
    const int64_t by = (int64_t)first - key;
    if (by <= -TILE || by >= TILE)
        return 0;
    return by < 0 ? tree >> -by : tree << by;
}

uint64_t qr_rows_see(const struct qr_run *run, uint32_t key)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->n_rows;
    const uint64_t listed = qr_sparse_tile(run->list, run->source.block_size, key);
    if (!listed)
        return 0;
    if (key >= run->all.lo && key + TILE <= run->all.hi) {
        for (uint32_t r = 0; r < n_rows; r++)
            s->visible[r] = listed;
        return listed;
    }
    uint64_t seen = 0;
    for (uint32_t r = 0; r < n_rows; r++)
        s->visible[r] = qr_tile_bits(s->lo[r], s->hi[r], key) & listed;
    for (uint32_t r = 0; run->tree && r < n_rows; r++)
        s->visible[r] |= shift_to(s->tree[r], qr_plan_first_pos(run->seq), key) & listed;
    for (uint32_t r = 0; r < n_rows; r++)
        seen |= s->visible[r];
    return seen;
}

/* ---- terms that depend on positions */

/* Values of a relative bias for 64 distances from `first` on: the table itself where they lie in
 * it, else a copy at `out` with distances beyond its range clamped. */
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

/* Whether row r is a token of a branch, one whose position or that of a token it sees is not that
 * of its place in the cache, and new tokens lie in the tile at `key`. */
static bool is_branch(const struct qr_run *run, uint32_t r, uint32_t key)
{
    const uint32_t first = qr_plan_first_pos(run->seq);
    if (!run->tree || key + TILE <= first)
        return false;
    for (uint64_t left = run->call->scratch.tree[r]; left; left &= left - 1) {
        const uint32_t token = (uint32_t)__builtin_ctzll(left);
        if (qr_plan_pos(run->seq, token) != first + token)
            return true;
    }
    return false;
}

/* All terms of a row of a branch, key by key. */
static void branch_row(const struct qr_run *run, uint32_t r, uint32_t key, float *out)
{
    const struct quire_attention_config *c = run->call->config;
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t first = qr_plan_first_pos(run->seq);
    const int64_t range = c->relative_range;
    for (uint32_t j = 0; j < TILE; j++) {
        if (!(s->visible[r] >> j & 1)) {
            out[j] = 0;
            continue;
        }
        const uint32_t at = key + j, pos = at < first ? at : qr_plan_pos(run->seq, at - first);
        const int64_t d = (int64_t)pos - s->pos[r];
        out[j] = c->alibi_slopes ? s->slope[r] * (float)d : 0;
        if (c->relative_bias)
            out[j] += s->relative[r][range + (d < -range ? -range : d > range ? range : d)];
    }
}

/* The bias of row i of a call, row r of the item; it is not branch_row's. */
static const float *plain_row(const struct qr_run *run, uint32_t i, uint32_t r, uint32_t key)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    float *out = s->bias + (size_t)i * TILE;
    if (run->call->config->relative_bias)
        return relative_row(s->relative[r], run->call->config->relative_range,
                            (int64_t)key - s->pos[r], out);
    memset(out, 0, TILE * sizeof *out);
    return out;
}

void qr_rows_positions(const struct qr_run *run, uint32_t key, uint32_t first,
                       struct qr_attn_softmax_args *a)
{
    const struct quire_attention_config *c = run->call->config;
    const struct qr_plan_scratch *s = &run->call->scratch;
    bool branches = false;
    if (!c->alibi_slopes && !c->relative_bias)
        return;
    for (uint32_t i = 0; i < (uint32_t)a->n_rows; i++) {
        const uint32_t r = first + i;
        const bool branch = is_branch(run, r, key);
        branches |= branch;
        s->distance[i] = (int64_t)key - s->pos[r];
        s->slope_now[i] = c->alibi_slopes && !branch ? s->slope[r] : 0;
        if (branch) {
            branch_row(run, r, key, s->bias + (size_t)i * TILE);
            s->bias_rows[i] = s->bias + (size_t)i * TILE;
        } else if (c->relative_bias || run->tree) {
            s->bias_rows[i] = plain_row(run, i, r, key);
        }
    }
    a->slope = c->alibi_slopes ? s->slope_now : NULL;
    a->distance = s->distance;
    a->bias = c->relative_bias || branches ? s->bias_rows : NULL;
}
