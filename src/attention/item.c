/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - one item: its query rows over its spans, and the merge of spans. */
#include "attention/cascade.h"
#include "attention/run.h"
#include <math.h>
#include <string.h>

enum { TILE = QR_TILE_KEYS, SPAN = QR_SPAN_KEYS, COLUMN = QR_COLUMN_KEYS };

/* ---- rows against a tile */

/* Rows [first, first + n) of the item against the tile at `key`; what they see of it is in scratch.
 */
static void attend_rows(const struct qr_run *run, uint32_t key, const struct qr_tile *t,
                        const struct qr_state *st, uint32_t first, uint32_t n)
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
    struct qr_attn_qk_args qk = { .q = (const unsigned char *)s->q + q_at,
                                  .k_stride = t->k_stride,
                                  .s = s->s,
                                  .n_rows = (int)n,
                                  .head_size = (int)run->k_size };
    struct qr_attn_pv_args pv = { .p = call->kernels.p_bf16 ? (const void *)s->p : s->s,
                                  .v_stride = t->v_stride,
                                  .o = st->o + (size_t)first * run->v_width,
                                  .visible = visible,
                                  .o_stride = run->v_width,
                                  .n_rows = (int)n,
                                  .v_head_size = (int)run->v_size };
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        if (any >> (c * COLUMN) & 0xffff) {
            qk.k[c] = t->k[c];
            pv.v[c] = t->v[c];
        }
    if (first == 0) { /* the others find it fetched */
        qk.next = t->next_k;
        pv.next = t->next_v;
    }
    (t->k_codes ? call->kernels.qk_codes : call->kernels.qk)(&qk);
    struct qr_attn_softmax_args softmax = {
        .s = s->s,
        .p_bf16 = call->kernels.p_bf16 ? s->p : NULL,
        .visible = visible,
        .m = st->m + first,
        .l = s->lanes + (size_t)first * COLUMN,
        .l_exact = run->exact ? s->lanes_exact + (size_t)first * COLUMN : NULL,
        .o = pv.o,
        .row_scale = call->args.q_scale ? s->row_scale + first : NULL,
        .k_scale = t->k_scale,
        .v_scale = t->v_scale,
        .o_stride = run->v_width,
        .scale = call->config->scale * run->k_scale,
        .soft_cap = call->config->logits_soft_cap,
        .n_rows = (int)n,
        .o_width = (int)run->v_width,
    };
    qr_rows_positions(run, key, first, &softmax);
    call->kernels.softmax(&softmax);
    (t->v_codes ? call->kernels.pv_codes : call->kernels.pv)(&pv);
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

static void clear(const struct qr_run *run, const struct qr_state *st)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->n_rows;
    for (uint32_t r = 0; r < n_rows; r++)
        st->m[r] = -INFINITY;
    memset(s->lanes, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes);
    memset(s->lanes_exact, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes_exact);
    memset(st->o, 0, (size_t)n_rows * run->v_width * sizeof *st->o);
}

/* Whether a tile, of which some row sees the keys `seen`, is one for the kernels of codes. */
static bool suits_codes(const struct qr_run *run, uint64_t seen)
{
    bool all = ~seen == 0 && run->n_rows <= QR_CODES_ROWS;
    for (uint32_t r = 0; all && r < run->n_rows; r++)
        all = ~run->call->scratch.visible[r] == 0;
    return all;
}

void qr_run_span(const struct qr_run *run, uint32_t span, const struct qr_state *st)
{
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t n_rows = run->n_rows, chunk = (uint32_t)run->call->group->table->attn_call_rows;
    const uint32_t begin = span * SPAN > run->any.lo ? span * SPAN : run->any.lo;
    const uint32_t end = run->any.hi - span * SPAN < SPAN ? run->any.hi : span * SPAN + SPAN;
    bool live = false;
    for (uint32_t key = begin / TILE * TILE; key < end; key += TILE) {
        const uint64_t seen = qr_rows_see(run, key);
        if (!seen)
            continue;
        if (!live)
            clear(run, st);
        live = true;
        const struct qr_tile t = qr_tile_load(&run->source, key, seen, suits_codes(run, seen));
        for (uint32_t r = 0; r < n_rows; r += chunk)
            attend_rows(run, key, &t, st, r, n_rows - r < chunk ? n_rows - r : chunk);
    }
    for (uint32_t r = 0; r < n_rows; r++) { /* a sum of 0: no key, whatever else is in the state */
        st->l[r] = live ? sum_lanes(s->lanes + (size_t)r * COLUMN) : 0;
        st->l_exact[r] =
            live && run->exact ? sum_lanes(s->lanes_exact + (size_t)r * COLUMN) : st->l[r];
    }
}

/* ---- merge */

void qr_run_merge(const struct qr_run *run, const struct qr_state *acc, const struct qr_state *part)
{
    const int n_rows = (int)run->n_rows, width = (int)run->v_width;
    run->call->kernels.merge(&(struct qr_attn_merge_args){ acc->m, acc->l, acc->l_exact, acc->o,
                                                           part->m, part->l, part->l_exact, part->o,
                                                           run->v_width, n_rows, width });
}

struct qr_state qr_run_slot(const struct qr_run *run, uint32_t i)
{
    const struct qr_plan_group *g = run->call->group;
    const uint32_t n = run->n_rows;
    float *p = run->call->plan->partials + g->joins[run->item->join].offset +
               i * qr_plan_slot_floats(g, n);
    return (struct qr_state){ p, p + n, p + 2 * n, p + 3 * n };
}

void qr_run_arrive(const struct qr_run *run)
{
    struct qr_plan_join *join = &run->call->group->joins[run->item->join];
    if (__atomic_add_fetch(&join->arrived, 1, __ATOMIC_ACQ_REL) != join->n_items)
        return;
    __atomic_store_n(&join->arrived, 0, __ATOMIC_RELAXED); /* for the next layer */
    const struct qr_state acc = qr_run_slot(run, 0);
    for (uint32_t i = 1; i < join->n_slots; i++) {
        const struct qr_state part = qr_run_slot(run, i);
        qr_run_merge(run, &acc, &part);
    }
    qr_rows_store(run, &acc);
}

struct qr_run qr_run_of(const struct qr_attention_call *call, const struct qr_plan_item *item)
{
    const struct quire_kv_cache *kv = call->plan->kv;
    const uint32_t group = call->group->kv_group, layer = call->args.layer, head = item->kv_head;
    struct qr_run run = { .call = call, .item = item, .seq = &call->plan->seqs[item->seq] };
    run.list = qr_plan_list(call->group, item->seq, head);
    run.all.hi = UINT32_MAX;
    run.source = qr_tile_source_of(call, item);
    run.k_size = (uint32_t)call->kv->layout.k_size;
    run.v_size = (uint32_t)call->kv->layout.v_size;
    run.v_width = call->group->v_width;
    run.k_scale = qr_kv_k_scale(kv, group, layer, head);
    run.v_scale = qr_kv_v_scale(kv, group, layer, head);
    /* with scales of V's rows, l sums unrounded weights anyway */
    run.exact = call->args.lse && call->kernels.p_bf16 && !call->kv->layout.v_scales;
    return run;
}

void qr_attention_item(const struct qr_attention_call *call, const struct qr_plan_item *item)
{
    if (item->cascade != QR_CASCADE_NONE) {
        qr_cascade_item(call, item);
        return;
    }
    const struct qr_plan_scratch *s = &call->scratch;
    struct qr_run run = qr_run_of(call, item);
    qr_rows_load(&run);
    const bool own_slots = item->join >= 0 && item->slot > 0;
    const struct qr_state part = { s->part_m, s->part_l, s->part_l_exact, s->part };
    struct qr_state acc = { s->acc_m, s->acc_l, s->acc_l_exact, s->acc };
    if (item->join >= 0 && !own_slots)
        acc = qr_run_slot(&run, 0);
    if (item->span == item->end_span)
        memset(acc.l, 0, item->n_rows * sizeof *acc.l);
    for (uint32_t span = item->span; span < item->end_span; span++) {
        if (own_slots) {
            const struct qr_state slot = qr_run_slot(&run, item->slot + span - item->span);
            qr_run_span(&run, span, &slot);
        } else if (span == item->span) {
            qr_run_span(&run, span, &acc);
        } else {
            qr_run_span(&run, span, &part);
            qr_run_merge(&run, &acc, &part);
        }
    }
    if (item->join >= 0)
        qr_run_arrive(&run);
    else
        qr_rows_store(&run, &acc);
}
