/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - the query rows of an item: their values, the keys they see, and their position bias. */
#include "attention/convert.h"
#include "attention/run.h"
#include <string.h>

enum { TILE = QUIRE_TILE_KEYS };

/* ---- loading */

/* One query as the kernels want it. Rows may be misaligned, so they are copied first. */
static void load_query(const struct qr_run *run, uint32_t r, uint32_t token, uint32_t head)
{
    const struct qr_attention_call *call = run->call;
    const struct quire_attention_args *a = &call->args;
    const struct qr_plan_scratch *s = &call->scratch;
    const struct quire_kernels *k = call->group->table;
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
        s->row_scale[r] = a->q_scale[row * call->config->num_heads + head];
}

static void note_keys(struct qr_run *run, uint32_t r, const struct qr_token_keys *k)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    s->pos[r] = k->pos;
    s->lo[r] = k->range.lo;
    s->hi[r] = k->range.hi;
    if (k->range.lo < k->range.hi) {
        run->any.lo = k->range.lo < run->any.lo ? k->range.lo : run->any.lo;
        run->any.hi = k->range.hi > run->any.hi ? k->range.hi : run->any.hi;
    }
    run->all.lo = k->range.lo > run->all.lo ? k->range.lo : run->all.lo;
    run->all.hi = k->range.hi < run->all.hi ? k->range.hi : run->all.hi;
}

void qr_rows_load(struct qr_run *run)
{
    const struct quire_attention_config *c = run->call->config;
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t ratio = run->call->group->ratio;
    run->any = (struct qr_key_range){ UINT32_MAX, 0 };
    run->all = (struct qr_key_range){ 0, UINT32_MAX };
    for (uint32_t r = 0; r < run->item->n_rows; r++) {
        const uint32_t row = run->item->row + r, token = row / ratio,
                       head = run->item->kv_head * ratio + row % ratio;
        const struct qr_token_keys keys = qr_token_keys(c, run->seq, token);
        load_query(run, r, token, head);
        note_keys(run, r, &keys);
        if (c->alibi_slopes)
            s->slope[r] = c->alibi_slopes[head];
        if (c->relative_bias)
            s->relative[r] = c->relative_bias + head * qr_attention_relative_row(c);
    }
}

/* ---- what they see of a tile */

/* Keys [lo, hi) of a row as bits of the tile at `key`. */
static uint64_t tile_bits(uint32_t lo, uint32_t hi, uint32_t key)
{
    const uint32_t begin = lo > key ? lo - key : 0, end = hi > key ? hi - key : 0;
    if (begin >= TILE || end <= begin)
        return 0;
    const uint64_t below_end = end < TILE ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0;
    return below_end & ~(uint64_t)0 << begin;
}

uint64_t qr_rows_see(const struct qr_run *run, uint32_t key)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->item->n_rows;
    const bool whole = key >= run->all.lo && key + TILE <= run->all.hi;
    uint64_t seen = 0;
    for (uint32_t r = 0; r < n_rows; r++)
        seen |= s->visible[r] = whole ? ~(uint64_t)0 : tile_bits(s->lo[r], s->hi[r], key);
    for (uint32_t r = 0; run->call->config->alibi_slopes && r < n_rows; r++)
        s->distance[r] = (int64_t)key - s->pos[r];
    return seen;
}

/* ---- their position bias */

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

const float *const *qr_rows_bias(const struct qr_run *run, uint32_t key, uint32_t first, uint32_t n)
{
    const struct quire_attention_config *c = run->call->config;
    const struct qr_plan_scratch *s = &run->call->scratch;
    if (!c->relative_bias)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        s->bias_rows[i] =
            relative_row(s->relative[first + i], c->relative_range,
                         (int64_t)key - s->pos[first + i], s->bias + (size_t)i * TILE);
    return s->bias_rows;
}
