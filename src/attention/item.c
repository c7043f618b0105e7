/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - one item: its query rows over its spans, the merge of spans, and the rows of the result. */
#include "attention/item.h"
#include <math.h>
#include <string.h>

enum { TILE = QUIRE_TILE_KEYS, SPAN = QUIRE_SPAN_KEYS, COLUMN = QUIRE_COLUMN_KEYS, COLUMNS = QUIRE_TILE_COLUMNS };

/* Softmax states of the item's rows: m, l, l_exact [n_rows], o [n_rows][v_width]. The sums are over all lanes; l_exact
 * is kept only for an LSE whose weights were rounded. */
struct state {
    float *m, *l, *l_exact, *o;
};

/* K and V of a tile: columns, NULL where no row of the item sees a key, and their strides. */
struct tile {
    const void *k[COLUMNS], *v[COLUMNS];
    size_t k_stride, v_stride;
    uint32_t key; /* position of key 0 */
};

/* An item on its way. */
struct run {
    const struct qr_attention_call *call;
    const struct qr_plan_item *item;
    const struct qr_plan_seq *seq;
    const struct qr_plan_table *table;
    const unsigned char *blocks; /* block 0 of the layer and KV head */
    struct qr_key_range any, all; /* keys that some row sees, and that every row sees */
    uint32_t block_size, k_size, v_size, v_width;
    size_t k_column, v_column; /* bytes from one column of a 64-token group to the next */
    float k_scale, v_scale;
    bool exact; /* l_exact is wanted */
};

/* ---- query rows */

/* Rounds the item's queries as the kernels want them, and notes what each row sees. */
static void load_rows(struct run *run)
{
    const struct qr_attention_call *call = run->call;
    const struct qr_plan_scratch *s = &call->scratch;
    const struct quire_attention_args *a = &call->args;
    const uint32_t ratio = call->group->ratio, first_pos = run->seq->len - run->seq->n_tokens;
    run->any = (struct qr_key_range){ UINT32_MAX, 0 };
    run->all = (struct qr_key_range){ 0, UINT32_MAX };
    for (uint32_t r = 0; r < run->item->n_rows; r++) {
        const uint32_t row = run->item->row + r, token = row / ratio, head = run->item->kv_head * ratio + row % ratio;
        const float *q = a->q + (run->seq->first_token + token) * a->q_token_stride + head * a->q_head_stride;
        const size_t at = (size_t)r * run->k_size;
        memcpy(call->kernels.narrow_q ? s->row : s->q + at, q, run->k_size * sizeof *q); /* may be misaligned */
        if (call->kernels.narrow_q)
            call->kernels.narrow_q((uint16_t *)(void *)s->q + at, s->row, 1, run->k_size);
        const struct qr_key_range keys = qr_plan_keys(call->config, run->seq, first_pos + token);
        s->pos[r] = first_pos + token;
        s->lo[r] = keys.lo;
        s->hi[r] = keys.hi;
        if (call->config->alibi_slopes)
            s->slope[r] = call->config->alibi_slopes[head];
        if (keys.lo < keys.hi) {
            run->any.lo = keys.lo < run->any.lo ? keys.lo : run->any.lo;
            run->any.hi = keys.hi > run->any.hi ? keys.hi : run->any.hi;
        }
        run->all.lo = keys.lo > run->all.lo ? keys.lo : run->all.lo;
        run->all.hi = keys.hi < run->all.hi ? keys.hi : run->all.hi;
    }
}

/* Keys [lo, hi) of a row as bits of the tile at `key`. */
static uint64_t tile_bits(uint32_t lo, uint32_t hi, uint32_t key)
{
    const uint32_t begin = lo > key ? lo - key : 0, end = hi > key ? hi - key : 0;
    if (begin >= TILE || end <= begin)
        return 0;
    const uint64_t below_end = end < TILE ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0;
    return below_end & ~(uint64_t)0 << begin;
}

/* ---- keys and values of a tile */

/* The column of 16 tokens at position `key`, of K or of V. */
static const unsigned char *column_at(const struct run *run, uint32_t key, bool is_v)
{
    const struct qr_kv_layout *l = &run->call->kv->layout;
    const uint32_t slot = key % run->block_size, group = (uint32_t)l->group;
    const int32_t id = run->call->group->blocks[run->table->at + key / run->block_size - run->table->first];
    const unsigned char *block = run->blocks + (size_t)id * l->block_bytes;
    const size_t in_group = slot % group / COLUMN;
    if (is_v)
        return block + l->k_bytes + slot / group * l->v_group_bytes + in_group * run->v_column;
    return block + slot / group * l->k_group_bytes + in_group * run->k_column;
}

/* A plain fp8 column as bf16 rows [16][n]. */
static void widen_plain(const struct run *run, enum quire_kv_dtype dtype, const unsigned char *src, uint16_t *dst, uint32_t n)
{
    const struct quire_kernels *t = run->call->group->table;
    float *row = run->call->scratch.row;
    for (uint32_t i = 0; i < COLUMN; i++, src += n, dst += n) {
        (dtype == QUIRE_KV_FP8_E4M3 ? t->widen_fp8_e4m3 : t->widen_fp8_e5m2)(row, src, 1, n);
        (void)t->narrow_bf16(dst, row, 1, n); /* exact */
    }
}

/* Live columns [c, end) of a tile that lie side by side: all of them in a group of 64 tokens, else one. */
static size_t columns_together(const struct run *run, const void *const *columns, size_t c)
{
    size_t end = c + 1;
    while (run->call->kv->layout.group == TILE && end < COLUMNS && columns[end])
        end++;
    return end;
}

/* Unpacks the fp8 columns of a tile's K to bf16 and points the tile there. */
static void unpack_k(const struct run *run, struct tile *t)
{
    const struct qr_kv_layout *l = &run->call->kv->layout;
    const size_t column = l->k_plain ? COLUMN * run->k_size : COLUMN * 2; /* halves from one column to the next */
    for (size_t c = 0, end; c < COLUMNS; c = end) {
        end = c + 1;
        if (!t->k[c])
            continue;
        uint16_t *dst = run->call->scratch.k + c * column;
        if (l->k_plain) {
            widen_plain(run, l->k_dtype, t->k[c], dst, run->k_size);
        } else {
            end = columns_together(run, t->k, c);
            run->call->kernels.unpack_k(&(struct quire_attn_unpack_args){
                .src = t->k[c], .dst = dst, .src_stride = l->k_step_bytes, .dst_stride = TILE * 2,
                .n_steps = (int)run->k_size / 4, .n_cells = (int)(end - c) });
        }
        for (size_t i = c; i < end; i++)
            t->k[i] = run->call->scratch.k + i * column;
    }
    t->k_stride = (l->k_plain ? run->k_size : TILE * 2) * sizeof(uint16_t);
}

static void unpack_v(const struct run *run, struct tile *t)
{
    const struct qr_kv_layout *l = &run->call->kv->layout;
    const size_t column = (size_t)COLUMN * run->v_width;
    for (size_t c = 0, end; c < COLUMNS; c = end) {
        end = c + 1;
        if (!t->v[c])
            continue;
        uint16_t *dst = run->call->scratch.v + c * column;
        if (l->v_plain) {
            widen_plain(run, l->v_dtype, t->v[c], dst, run->v_width);
        } else {
            end = columns_together(run, t->v, c);
            run->call->kernels.unpack_v(&(struct quire_attn_unpack_args){
                .src = t->v[c], .dst = dst, .src_stride = l->v_step_bytes, .dst_stride = (size_t)run->v_width * 2,
                .n_steps = (int)(end - c) * COLUMN / 4, .n_cells = (int)run->v_width / 16 });
        }
        for (size_t i = c; i < end; i++)
            t->v[i] = run->call->scratch.v + i * column;
    }
    t->v_stride = (size_t)run->v_width * (l->v_plain ? 1 : 2) * sizeof(uint16_t);
}

static struct tile load_tile(const struct run *run, uint32_t key)
{
    const struct qr_kv_layout *l = &run->call->kv->layout;
    struct tile t = { .k_stride = l->k_step_bytes, .v_stride = l->v_step_bytes, .key = key };
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const uint32_t at = key + c * COLUMN;
        if (at >= run->any.hi || at + COLUMN <= run->any.lo)
            continue;
        t.k[c] = column_at(run, at, false);
        t.v[c] = column_at(run, at, true);
    }
    if (run->call->kernels.unpack_k)
        unpack_k(run, &t);
    if (run->call->kernels.unpack_v)
        unpack_v(run, &t);
    return t;
}

/* ---- rows against a tile */

/* Rows [first, first + n) of the item against a tile; visible, distance and the rest of scratch are filled in. */
static void attend_rows(const struct run *run, const struct tile *t, const struct state *st, uint32_t first, uint32_t n)
{
    const struct qr_attention_call *call = run->call;
    const struct qr_plan_scratch *s = &call->scratch;
    const uint64_t *visible = s->visible + first;
    uint64_t any = 0;
    for (uint32_t r = 0; r < n; r++)
        any |= visible[r];
    if (!any)
        return;
    const size_t q_at = (size_t)first * run->k_size * (call->kernels.narrow_q ? sizeof(uint16_t) : sizeof(float));
    struct quire_attn_qk_args qk = { .q = (const unsigned char *)s->q + q_at, .k_stride = t->k_stride, .s = s->s,
                                     .n_rows = (int)n, .head_size = (int)run->k_size };
    struct quire_attn_pv_args pv = { .p = call->kernels.p_bf16 ? (const void *)s->p : s->s, .v_stride = t->v_stride,
                                     .o = st->o + (size_t)first * run->v_width, .visible = visible,
                                     .o_stride = run->v_width, .n_rows = (int)n, .v_head_size = (int)run->v_size };
    for (int c = 0; c < COLUMNS; c++)
        if (any >> (c * COLUMN) & 0xffff) {
            qk.k[c] = t->k[c];
            pv.v[c] = t->v[c];
        }
    call->kernels.qk(&qk);
    call->kernels.softmax(&(struct quire_attn_softmax_args){
        .s = s->s, .p_bf16 = call->kernels.p_bf16 ? s->p : NULL, .visible = visible, .m = st->m + first,
        .l = s->lanes + (size_t)first * COLUMN,
        .l_exact = run->exact ? s->lanes_exact + (size_t)first * COLUMN : NULL, .o = pv.o, .slope = call->config->alibi_slopes ? s->slope + first : NULL,
        .distance = s->distance + first, .o_stride = run->v_width, .scale = call->config->scale * run->k_scale,
        .soft_cap = call->config->logits_soft_cap, .n_rows = (int)n, .o_width = (int)run->v_width });
    call->kernels.pv(&pv);
}

static void attend_tile(const struct run *run, uint32_t key, const struct state *st)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->item->n_rows;
    const struct tile t = load_tile(run, key);
    const bool whole = key >= run->all.lo && key + TILE <= run->all.hi;
    for (uint32_t r = 0; r < n_rows; r++)
        s->visible[r] = whole ? ~(uint64_t)0 : tile_bits(s->lo[r], s->hi[r], key);
    for (uint32_t r = 0; run->call->config->alibi_slopes && r < n_rows; r++)
        s->distance[r] = (int64_t)key - s->pos[r];
    for (uint32_t r = 0; r < n_rows; r += QR_PLAN_CHUNK)
        attend_rows(run, &t, st, r, n_rows - r < QR_PLAN_CHUNK ? n_rows - r : QR_PLAN_CHUNK);
}

/* The 16 lane sums of a row, added by a fixed tree. */
static float sum_lanes(const float *lanes)
{
    float t[COLUMN / 2];
    for (int i = 0; i < COLUMN / 2; i++)
        t[i] = lanes[i] + lanes[i + COLUMN / 2];
    for (int w = COLUMN / 4; w > 0; w /= 2)
        for (int i = 0; i < w; i++)
            t[i] += t[i + w];
    return t[0];
}

/* The state of the item's rows over one span, from nothing. */
static void attend_span(const struct run *run, uint32_t span, const struct state *st)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->item->n_rows;
    const uint32_t begin = span * SPAN > run->any.lo ? span * SPAN : run->any.lo;
    const uint32_t end = run->any.hi - span * SPAN < SPAN ? run->any.hi : span * SPAN + SPAN;
    for (uint32_t r = 0; r < n_rows; r++)
        st->m[r] = -INFINITY;
    memset(s->lanes, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes);
    memset(s->lanes_exact, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes_exact);
    memset(st->o, 0, (size_t)n_rows * run->v_width * sizeof *st->o);
    for (uint32_t key = begin / TILE * TILE; key < end; key += TILE)
        attend_tile(run, key, st);
    for (uint32_t r = 0; r < n_rows; r++) {
        st->l[r] = sum_lanes(s->lanes + (size_t)r * COLUMN);
        st->l_exact[r] = run->exact ? sum_lanes(s->lanes_exact + (size_t)r * COLUMN) : st->l[r];
    }
}

/* ---- merge and result */

static void merge(const struct run *run, const struct state *acc, const struct state *part)
{
    const int n_rows = (int)run->item->n_rows, width = (int)run->v_width;
    run->call->kernels.merge(&(struct quire_attn_merge_args){ acc->m, acc->l, acc->l_exact, acc->o, part->m, part->l,
                                                              part->l_exact, part->o, run->v_width, n_rows, width });
}

/* Factor of a row's accumulators: v_scale over the softmax sum, in which the sink takes part. m and l are in powers
 * of two. */
static float normaliser(const struct run *run, uint32_t head, float m, float l)
{
    const float *sinks = run->call->config->sinks;
    if (!sinks)
        return run->v_scale / l;
    const float sink = sinks[head] * 1.44269504f, top = sink > m ? sink : m;
    const float own = exp2f(m - top);
    return run->v_scale * own / (l * own + exp2f(sink - top));
}

static void store_rows(const struct run *run, const struct state *st)
{
    const struct quire_attention_args *a = &run->call->args;
    const uint32_t ratio = run->call->group->ratio;
    float *row = run->call->scratch.row;
    for (uint32_t r = 0; r < run->item->n_rows; r++) {
        const uint32_t at = run->item->row + r, token = run->seq->first_token + at / ratio;
        const uint32_t head = run->item->kv_head * ratio + at % ratio;
        const float *o = st->o + (size_t)r * run->v_width;
        const bool seen = st->l[r] != 0;
        const float f = seen ? normaliser(run, head, st->m[r], st->l[r]) : 0;
        for (uint32_t d = 0; d < run->v_size; d++)
            row[d] = seen ? o[d] * f : 0;
        memcpy(a->out + token * a->out_token_stride + head * a->out_head_stride, row, run->v_size * sizeof *row);
        if (a->lse) {
            const double ln2 = 0.69314718055994530942;
            const float lse = seen ? (float)((st->m[r] + log2((double)st->l_exact[r])) * ln2) : -INFINITY;
            memcpy(a->lse + token * a->lse_token_stride + head, &lse, sizeof lse);
        }
    }
}

/* Slot i of the item's join. */
static struct state slot_at(const struct run *run, uint32_t i)
{
    const struct qr_plan_group *g = run->call->group;
    const uint32_t n = run->item->n_rows;
    float *p = run->call->plan->partials + g->joins[run->item->join].offset + i * qr_plan_slot_floats(g, n);
    return (struct state){ p, p + n, p + 2 * n, p + 3 * n };
}

/* Adds up the slots of the item's join if it is the last to arrive, and stores the rows. */
static void arrive(const struct run *run)
{
    struct qr_plan_join *join = &run->call->group->joins[run->item->join];
    if (__atomic_add_fetch(&join->arrived, 1, __ATOMIC_ACQ_REL) != join->n_items)
        return;
    join->arrived = 0; /* for the next layer; nobody else looks at it until then */
    const struct state acc = slot_at(run, 0);
    for (uint32_t i = 1; i < join->n_slots; i++) {
        const struct state part = slot_at(run, i);
        merge(run, &acc, &part);
    }
    store_rows(run, &acc);
}

void qr_attention_item(const struct qr_attention_call *call, const struct qr_plan_item *item)
{
    const struct qr_kv_layout *l = &call->kv->layout;
    const struct qr_plan_scratch *s = &call->scratch;
    const uint32_t kv_group = call->group->kv_group, layer = call->args.layer;
    struct run run = { .call = call, .item = item, .seq = &call->plan->seqs[item->seq],
                       .table = &call->group->tables[item->seq],
                       .blocks = qr_kv_block(call->plan->kv, kv_group, layer, item->kv_head, 0),
                       .block_size = (uint32_t)l->block_size, .k_size = (uint32_t)l->k_size, .v_size = (uint32_t)l->v_size,
                       .v_width = call->group->v_width, .exact = call->args.lse && call->kernels.p_bf16,
                       .k_column = qr_kv_k_column(l, COLUMN % l->group), .v_column = qr_kv_v_column(l, COLUMN % l->group) - l->k_bytes,
                       .k_scale = qr_kv_k_scale(call->plan->kv, kv_group, layer, item->kv_head),
                       .v_scale = qr_kv_v_scale(call->plan->kv, kv_group, layer, item->kv_head) };
    load_rows(&run);
    const bool own_slots = item->join >= 0 && item->slot > 0;
    const struct state part = { s->part_m, s->part_l, s->part_l_exact, s->part };
    struct state acc = { s->acc_m, s->acc_l, s->acc_l_exact, s->acc };
    if (item->join >= 0 && !own_slots)
        acc = slot_at(&run, 0);
    if (item->span == item->end_span)
        memset(acc.l, 0, item->n_rows * sizeof *acc.l);
    for (uint32_t span = item->span; span < item->end_span; span++) {
        if (own_slots) {
            const struct state slot = slot_at(&run, item->slot + span - item->span);
            attend_span(&run, span, &slot);
        } else if (span == item->span) {
            attend_span(&run, span, &acc);
        } else {
            attend_span(&run, span, &part);
            merge(&run, &acc, &part);
        }
    }
    if (item->join >= 0)
        arrive(&run);
    else
        store_rows(&run, &acc);
}
