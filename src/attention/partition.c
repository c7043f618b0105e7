/* SPDX-License-Identifier: Apache-2.0 */
/* partition.c - partitions the work of a batch into work items of similar cost. Results do not
 * depend on the partition. */
#include "attention/partition.h"
#include "attention/cascade_detect.h"
#include "attention/cascade_partition.h"
#include "attention/query_tile.h"
#include "attention/sparse.h"
#include "attention/splitkv.h"
#include "attention/work_list.h"
#include "base/error.h"

enum {
    ITEMS_PER_THREAD = 4, /* target; more items reduce load imbalance when a core is slowed down */
    MAX_CACHED_TILES = 32 /* tiles of a sequence that are computed once for all KV heads */
};

/* End of a split that begins at `span` and has `live` live spans, plus the dead spans that
 * follow. */
static uint32_t split_end(const struct qr_partitioner *p, const struct qr_query_tile *t,
                          uint32_t span, uint32_t live)
{
    if (!t->list)
        return span + live;
    for (; span < t->end_span; span++) {
        const uint32_t begin = span * QR_SPAN_KEYS, lo = begin > t->keys.lo ? begin : t->keys.lo,
                       hi = t->keys.hi - begin < QR_SPAN_KEYS ? t->keys.hi : begin + QR_SPAN_KEYS;
        const bool is_live = qr_sparse_any(t->list, p->plan->kv->block_size, lo, hi);
        if (is_live && live == 0)
            break;
        live -= is_live;
    }
    return span;
}

/* Emits the tile as n items with about equally many live spans. False if the plan lacks memory
 * for the reduction. */
static bool emit_split(struct qr_partitioner *p, struct qr_work_item whole,
                       const struct qr_query_tile *t, uint32_t n)
{
    struct qr_plan_group *g = p->g;
    const uint32_t share = t->n_live / n, more = t->n_live % n,
                   first_end = split_end(p, t, t->span, share + (more != 0)),
                   n_partials = 1 + t->end_span - first_end;
    const size_t floats = n_partials * qr_partial_floats(g, t->n_rows);
    if (g->n_reductions == g->max_reductions ||
        floats > p->plan->n_partial_floats - p->partials_used || n - 1 > p->split_budget)
        return false;
    p->split_budget -= n - 1;
    g->reductions[g->n_reductions] = (struct qr_reduction){ 0, n, n_partials, p->partials_used };
    p->partials_used += floats;
    whole.reduction = (int32_t)g->n_reductions++;
    uint32_t span = t->span;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t live = share + (i < more);
        struct qr_work_item item = whole;
        item.span = span;
        item.end_span = span = split_end(p, t, span, live);
        item.partial = i ? item.span - first_end + 1 : 0;
        qr_work_list_append(p, &item, 1, t->cost / t->n_live * live);
    }
    return true;
}

/* A tile, its work item when it is not split, and its number of splits. */
struct planned_tile {
    struct qr_query_tile tile;
    struct qr_work_item whole;
    uint32_t n_splits;
};

static void plan_tile(const struct qr_partitioner *p, uint32_t seq, uint32_t kv_head, uint32_t i,
                      uint32_t n, struct planned_tile *r)
{
    const struct qr_query_tile *t = &r->tile;
    qr_query_tile_get(p->plan, p->g, seq, kv_head, i, n, &r->tile);
    r->n_splits = qr_work_list_num_splits(p, t->n_live, t->cost);
    r->whole = (struct qr_work_item){ .seq = seq,
                                      .kv_head = kv_head,
                                      .row = t->row,
                                      .n_rows = t->n_rows,
                                      .span = t->span,
                                      .end_span = t->end_span,
                                      .reduction = -1,
                                      .cascade = QR_CASCADE_NONE };
}

/* Emits the tile for n consecutive KV heads to which it is identical. */
static void emit_tile(struct qr_partitioner *p, const struct planned_tile *r, uint32_t kv_head,
                      uint32_t n)
{
    struct qr_work_item whole = r->whole;
    whole.kv_head = kv_head;
    for (; r->n_splits > 1 && n && emit_split(p, whole, &r->tile, r->n_splits); n--)
        whole.kv_head++;
    if (n)
        qr_work_list_append(p, &whole, n, r->tile.cost);
}

/* Total cost of a sequence's tiles, cascades disregarded. */
static uint64_t seq_cost(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq)
{
    const uint32_t n = qr_query_tile_count(g, &plan->seqs[seq]), kv_heads = g->config.n_kv_heads,
                   n_distinct = g->sparse ? kv_heads : 1;
    struct qr_query_tile t;
    uint64_t cost = 0;
    QR_INVARIANT(kv_heads > 0); /* checked with the configuration */
    for (uint32_t h = 0; h < n_distinct; h++)
        for (uint32_t i = 0; i < n; i++) {
            qr_query_tile_get(plan, g, seq, h, i, n, &t);
            cost += t.cost;
        }
    return cost * (kv_heads / n_distinct);
}

/* Emits all tiles of a sequence that is in no cascade. */
static void emit_seq(struct qr_partitioner *p, uint32_t seq)
{
    const struct qr_plan_group *g = p->g;
    const uint32_t n = qr_query_tile_count(g, &p->plan->seqs[seq]);
    const bool cached = n <= MAX_CACHED_TILES && !g->sparse;
    struct planned_tile cache[MAX_CACHED_TILES], single;
    for (uint32_t i = 0; cached && i < n; i++)
        plan_tile(p, seq, 0, i, n, &cache[i]);
    if (cached && n == 1) {
        emit_tile(p, cache, 0, g->config.n_kv_heads);
        return;
    }
    for (uint32_t h = 0; h < g->config.n_kv_heads; h++)
        for (uint32_t i = n;
             i-- > 0;) { /* the last tile of a causal prompt is the most expensive */
            const struct planned_tile *r = cached ? &cache[i] : &single;
            if (!cached)
                plan_tile(p, seq, h, i, n, &single);
            if (r->tile.n_rows)
                emit_tile(p, r, h, 1);
        }
}

void qr_plan_partition(struct quire_plan *plan, struct qr_plan_group *g)
{
    uint64_t total = 0;
    qr_cascade_detect(plan, g);
    for (uint32_t s = 0; s < plan->n_seqs; s++)
        total += seq_cost(plan, g, s);
    total -= qr_cascade_saving(g);
    const uint64_t target = total / (ITEMS_PER_THREAD * (uint64_t)plan->team_size);
    struct qr_partitioner p = { .plan = plan, .g = g, .target = target + 1 };
    p.split_budget = QR_SPLITS_PER_THREAD * plan->team_size;
    if (plan->team_size == 1) /* splitting has no benefit */
        p.target = UINT64_MAX / 2;
    g->n_items = g->n_reductions = plan->n_cost_runs = 0;
    qr_cascade_partition(&p);
    for (uint32_t s = 0; s < plan->n_seqs; s++)
        if (qr_cascade_has(plan, g, s))
            qr_cascade_emit_own_spans(&p, s);
        else
            emit_seq(&p, s);
    qr_work_list_sort(plan, g);
}
