/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_run.c - executes one work item of a cascade: rows of several sequences over spans that
 * they share. */
#include "attention/cascade_run.h"
#include "attention/query_rows.h"
#include "attention/span.h"
#include "attention/splitkv.h"
#include "attention/tile_ctx.h"
#include "base/error.h"
#include <string.h>

/* A member's tile of the item's KV head. */
static struct qr_work_item member_tile(const struct qr_attention_call *call,
                                       const struct qr_cascade_member *m,
                                       const struct qr_work_item *item)
{
    return (struct qr_work_item){ .seq = m->seq,
                                  .kv_head = item->kv_head,
                                  .n_rows =
                                      call->plan->seqs[m->seq].n_tokens * call->group->gqa_ratio,
                                  .reduction = (int32_t)(m->reduction + item->kv_head) };
}

/* The first member from m on that was not removed; NULL at the end. */
static const struct qr_cascade_member *next_member(const struct qr_plan_group *g,
                                                   const struct qr_cascade *c,
                                                   const struct qr_cascade_member *m)
{
    const struct qr_cascade_member *end = g->members + c->first_member + c->n_members;
    while (m < end && m->seq == QR_CASCADE_NONE)
        m++;
    return m < end ? m : NULL;
}

/* Writes rows [first, first + tile->n_rows) of a span's states to partial i of the member's
 * reduction: merges them into it, or replaces it. */
static void write_partial(const struct qr_attention_call *call, const struct qr_work_item *tile,
                          uint32_t i, bool merge, const struct qr_softmax_state *all,
                          uint32_t first)
{
    const size_t n = tile->n_rows, width = call->group->v_width;
    const struct qr_softmax_state part = { all->m + first, all->l + first, all->l_exact + first,
                                           all->o + first * width };
    const struct qr_softmax_state to = qr_splitkv_partial(call, tile->reduction, tile->n_rows, i);
    if (merge) {
        qr_splitkv_merge(call, tile->n_rows, &to, &part);
        return;
    }
    memcpy(to.m, part.m, n * sizeof *to.m);
    memcpy(to.l, part.l, n * sizeof *to.l);
    memcpy(to.l_exact, part.l_exact, n * sizeof *to.l_exact);
    memcpy(to.o, part.o, n * width * sizeof *to.o);
}

/* Distributes the states of one span to the partials of all members. */
static void write_partials(const struct qr_attention_call *call, const struct qr_work_item *item,
                           const struct qr_cascade_member *begin, uint32_t span,
                           const struct qr_softmax_state *state)
{
    const struct qr_plan_group *g = call->group;
    const struct qr_cascade *c = &g->cascades[item->cascade];
    uint32_t first = 0;
    for (const struct qr_cascade_member *m = begin; m; m = next_member(g, c, m + 1)) {
        const struct qr_work_item tile = member_tile(call, m, item);
        const bool in_first = span < m->first_end;
        write_partial(call, &tile, in_first ? 0 : span - m->first_end + 1,
                      in_first && span > item->span, state, first);
        first += tile.n_rows;
    }
}

void qr_cascade_run(const struct qr_attention_call *call, const struct qr_work_item *item)
{
    const struct qr_plan_group *g = call->group;
    const struct qr_thread_scratch *s = &call->scratch;
    const struct qr_cascade *c = &g->cascades[item->cascade];
    const struct qr_cascade_member *const begin = next_member(g, c, g->members + c->first_member);
    QR_INVARIANT(begin); /* a cascade that lost all members has no work items */
    const struct qr_softmax_state state = { s->part_m, s->part_l, s->part_l_exact, s->part };
    struct qr_work_item tile = member_tile(call, begin, item);
    struct qr_tile_ctx ctx = qr_tile_ctx_init(call, &tile); /* reads keys from its blocks */
    for (const struct qr_cascade_member *m = begin; m; m = next_member(g, c, m + 1)) {
        tile = member_tile(call, m, item);
        ctx.seq = &call->plan->seqs[m->seq];
        qr_query_rows_load(&ctx);
    }
    for (uint32_t span = item->span; span < item->end_span; span++) {
        qr_span_attend(&ctx, span, &state);
        write_partials(call, item, begin, span, &state);
    }
    for (const struct qr_cascade_member *m = begin; m; m = next_member(g, c, m + 1)) {
        tile = member_tile(call, m, item);
        ctx.seq = &call->plan->seqs[m->seq];
        ctx.n_rows = tile.n_rows;
        qr_splitkv_reduce(&ctx);
    }
}
