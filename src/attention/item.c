/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - one item: its query rows over its spans, the merge of spans, and the rows of the result.
 */
#include "attention/item.h"
#include "attention/tile.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    TILE = QUIRE_TILE_KEYS,
    SPAN = QUIRE_SPAN_KEYS,
    COLUMN = QUIRE_COLUMN_KEYS,
    COLUMNS = QUIRE_TILE_COLUMNS
};

/* Softmax states of the item's rows: m, l, l_exact [n_rows], o [n_rows][v_width]. The sums are over
 * all lanes; l_exact is kept only for an LSE whose weights were rounded. */
struct state {
    float *m, *l, *l_exact, *o;
};

/* An item on its way. */
struct run {
    const struct qr_attention_call *call;
    const struct qr_plan_item *item;
    const struct qr_plan_seq *seq;
    struct qr_tile_source source;
    struct qr_key_range any, all; /* keys that some row sees, and that every row sees */
    uint32_t k_size, v_size, v_width;
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
        const uint32_t row = run->item->row + r, token = row / ratio,
                       head = run->item->kv_head * ratio + row % ratio;
        const float *q =
            (const float *)a->q + (run->seq->first_token + token) * a->q_token_stride + head * a->q_head_stride;
        const size_t at = (size_t)r * run->k_size;
        memcpy(call->kernels.narrow_q ? s->row : s->q + at, q,
               run->k_size * sizeof *q); /* may be misaligned */
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

/* ---- rows against a tile */

/* Rows [first, first + n) of the item against a tile; visible, distance and the rest of scratch are
 * filled in. */
static void attend_rows(const struct run *run, const struct qr_tile *t, const struct state *st,
                        uint32_t first, uint32_t n)
{
    const struct qr_attention_call *call = run->call;
    const struct qr_plan_scratch *s = &call->scratch;
    const uint64_t *visible = s->visible + first;
    uint64_t any = 0;
    for (uint32_t r = 0; r < n; r++)
        any |= visible[r];
    if (!any)
        return;
    const size_t q_at =
        (size_t)first * run->k_size * (call->kernels.narrow_q ? sizeof(uint16_t) : sizeof(float));
    struct quire_attn_qk_args qk = { .q = (const unsigned char *)s->q + q_at,
                                     .k_stride = t->k_stride,
                                     .s = s->s,
                                     .n_rows = (int)n,
                                     .head_size = (int)run->k_size };
    struct quire_attn_pv_args pv = { .p = call->kernels.p_bf16 ? (const void *)s->p : s->s,
                                     .v_stride = t->v_stride,
                                     .o = st->o + (size_t)first * run->v_width,
                                     .visible = visible,
                                     .o_stride = run->v_width,
                                     .n_rows = (int)n,
                                     .v_head_size = (int)run->v_size };
    for (int c = 0; c < QUIRE_TILE_COLUMNS; c++)
        if (any >> (c * COLUMN) & 0xffff) {
            qk.k[c] = t->k[c];
            pv.v[c] = t->v[c];
        }
    call->kernels.qk(&qk);
    call->kernels.softmax(&(struct quire_attn_softmax_args){
        .s = s->s,
        .p_bf16 = call->kernels.p_bf16 ? s->p : NULL,
        .visible = visible,
        .m = st->m + first,
        .l = s->lanes + (size_t)first * COLUMN,
        .l_exact = run->exact ? s->lanes_exact + (size_t)first * COLUMN : NULL,
        .o = pv.o,
        .slope = call->config->alibi_slopes ? s->slope + first : NULL,
        .distance = s->distance + first,
        .o_stride = run->v_width,
        .scale = call->config->scale * run->k_scale,
        .soft_cap = call->config->logits_soft_cap,
        .n_rows = (int)n,
        .o_width = (int)run->v_width });
    call->kernels.pv(&pv);
}

static void attend_tile(const struct run *run, uint32_t key, const struct state *st)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->item->n_rows;
    const struct qr_tile t = qr_tile_load(&run->source, key, run->any);
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
    run->call->kernels.merge(
        &(struct quire_attn_merge_args){ acc->m, acc->l, acc->l_exact, acc->o, part->m, part->l,
                                         part->l_exact, part->o, run->v_width, n_rows, width });
}

/* Factor of a row's accumulators: v_scale over the softmax sum, in which the sink takes part. m and
 * l are in powers of two. */
static float normaliser(const struct run *run, uint32_t head, float m, float l)
{
    const float *sinks = run->call->config->sinks;
    if (!sinks)
        return run->v_scale / l;
    const float sink = fminf(sinks[head] * 1.44269504f, FLT_MAX), top = sink > m ? sink : m;
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
        memcpy((float *)a->out + token * a->out_token_stride + head * a->out_head_stride, row,
               run->v_size * sizeof *row);
        if (a->lse) {
            const double ln2 = 0.69314718055994530942;
            const float lse =
                seen ? (float)((st->m[r] + log2((double)st->l_exact[r])) * ln2) : -INFINITY;
            memcpy(a->lse + token * a->lse_token_stride + head, &lse, sizeof lse);
        }
    }
}

/* Slot i of the item's join. */
static struct state slot_at(const struct run *run, uint32_t i)
{
    const struct qr_plan_group *g = run->call->group;
    const uint32_t n = run->item->n_rows;
    float *p = run->call->plan->partials + g->joins[run->item->join].offset +
               i * qr_plan_slot_floats(g, n);
    return (struct state){ p, p + n, p + 2 * n, p + 3 * n };
}

/* Adds up the slots of the item's join if it is the last to arrive, and stores the rows. */
static void arrive(const struct run *run)
{
    struct qr_plan_join *join = &run->call->group->joins[run->item->join];
    if (__atomic_add_fetch(&join->arrived, 1, __ATOMIC_ACQ_REL) != join->n_items)
        return;
    __atomic_store_n(&join->arrived, 0, __ATOMIC_RELAXED); /* for the next layer */
    const struct state acc = slot_at(run, 0);
    for (uint32_t i = 1; i < join->n_slots; i++) {
        const struct state part = slot_at(run, i);
        merge(run, &acc, &part);
    }
    store_rows(run, &acc);
}

void qr_attention_item(const struct qr_attention_call *call, const struct qr_plan_item *item)
{
    const struct qr_plan_scratch *s = &call->scratch;
    const struct quire_kv_cache *kv = call->plan->kv;
    const uint32_t group = call->group->kv_group, layer = call->args.layer, head = item->kv_head;
    struct run run = { .call = call, .item = item, .seq = &call->plan->seqs[item->seq] };
    run.source = qr_tile_source_of(call, item);
    run.k_size = (uint32_t)call->kv->layout.k_size;
    run.v_size = (uint32_t)call->kv->layout.v_size;
    run.v_width = call->group->v_width;
    run.k_scale = qr_kv_k_scale(kv, group, layer, head);
    run.v_scale = qr_kv_v_scale(kv, group, layer, head);
    run.exact = call->args.lse && call->kernels.p_bf16;
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
