/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_item.c - one item of a cascade: rows of several sequences over spans that they share. */
#include "attention/cascade.h"
#include "attention/run.h"
#include <string.h>

/* A member's tile of the item's KV head. */
static struct qr_plan_item tile_of(const struct qr_attention_call *call,
                                   const struct qr_cascade_member *m,
                                   const struct qr_plan_item *item)
{
    return (struct qr_plan_item){ .seq = m->seq,
                                  .kv_head = item->kv_head,
                                  .n_rows = call->plan->seqs[m->seq].n_tokens * call->group->ratio,
                                  .join = (int32_t)(m->join + item->kv_head) };
}

/* Steps to the next member that takes part, from m on; NULL at the end. */
static const struct qr_cascade_member *live(const struct qr_plan_group *g,
                                            const struct qr_cascade *c,
                                            const struct qr_cascade_member *m)
{
    const struct qr_cascade_member *end = g->members + c->first_member + c->n_members;
    while (m < end && m->seq == QR_CASCADE_NONE)
        m++;
    return m < end ? m : NULL;
}

/* The run of one member, whose rows follow `first` others. */
static struct qr_run member_run(const struct qr_run *all, const struct qr_plan_item *tile)
{
    struct qr_run run = *all;
    run.item = tile;
    run.seq = &all->call->plan->seqs[tile->seq];
    run.n_rows = tile->n_rows;
    return run;
}

/* Rows [first, first + run->n_rows) of a span's states to their slot of the member's join: added to
 * what is there, or in its place. */
static void hand_over(const struct qr_run *run, uint32_t slot, bool add, const struct qr_state *all,
                      uint32_t first)
{
    const size_t n = run->n_rows, width = run->v_width;
    const struct qr_state part = { all->m + first, all->l + first, all->l_exact + first,
                                   all->o + first * width };
    const struct qr_state to = qr_run_slot(run, slot);
    if (add) {
        qr_run_merge(run, &to, &part);
        return;
    }
    memcpy(to.m, part.m, n * sizeof *to.m);
    memcpy(to.l, part.l, n * sizeof *to.l);
    memcpy(to.l_exact, part.l_exact, n * sizeof *to.l_exact);
    memcpy(to.o, part.o, n * width * sizeof *to.o);
}

void qr_cascade_item(const struct qr_attention_call *call, const struct qr_plan_item *item)
{
    const struct qr_plan_group *g = call->group;
    const struct qr_plan_scratch *s = &call->scratch;
    const struct qr_cascade *c = &g->cascades[item->cascade];
    const struct qr_cascade_member *const begin = live(g, c, g->members + c->first_member);
    const struct qr_state state = { s->part_m, s->part_l, s->part_l_exact, s->part };
    struct qr_plan_item tile = tile_of(call, begin, item);
    struct qr_run run = qr_run_of(call, &tile); /* keys are read from its blocks */
    for (const struct qr_cascade_member *m = begin; m; m = live(g, c, m + 1)) {
        tile = tile_of(call, m, item);
        run.seq = &call->plan->seqs[m->seq];
        qr_rows_load(&run);
    }
    for (uint32_t span = item->span; span < item->end_span; span++) {
        uint32_t first = 0;
        qr_run_span(&run, span, &state);
        for (const struct qr_cascade_member *m = begin; m; m = live(g, c, m + 1)) {
            tile = tile_of(call, m, item);
            const struct qr_run own = member_run(&run, &tile);
            const bool in_first = span < m->first_end;
            hand_over(&own, in_first ? 0 : span - m->first_end + 1, in_first && span > item->span,
                      &state, first);
            first += tile.n_rows;
        }
    }
    for (const struct qr_cascade_member *m = begin; m; m = live(g, c, m + 1)) {
        tile = tile_of(call, m, item);
        const struct qr_run own = member_run(&run, &tile);
        qr_run_arrive(&own);
    }
}
