/* SPDX-License-Identifier: Apache-2.0 */
/* plan_divide.c - cuts the work of a batch into items of similar cost. Only who computes what
 * depends on it. */
#include "attention/cascade.h"
#include "attention/divide.h"
#include "attention/sparse.h"
#include <string.h>

enum {
    ITEMS_PER_THREAD = 4, /* so that a slow neighbour on one core costs little */
    N_CLASSES = 64,       /* of cost, by power of two */
    N_KEPT = 32           /* tiles of a sequence that are worked out once for all heads */
};

uint32_t qr_tiles_of(const struct qr_plan_group *g, const struct qr_plan_seq *s)
{
    const uint64_t rows = (uint64_t)s->n_tokens * g->ratio;
    return (uint32_t)((rows + g->tile_rows - 1) / g->tile_rows);
}

struct qr_query_tile qr_tile_at(const struct quire_plan *plan, const struct qr_plan_group *g,
                                uint32_t seq, uint32_t kv_head, uint32_t i, uint32_t n)
{
    const struct qr_plan_seq *s = &plan->seqs[seq];
    const uint64_t rows = (uint64_t)s->n_tokens * g->ratio;
    uint64_t share = (rows + n - 1) / n;
    share = (share + 5) / 6 * 6 < g->tile_rows ? (share + 5) / 6 * 6 : g->tile_rows;
    const uint64_t first = share * i < rows ? share * i : rows, left = rows - first;
    struct qr_query_tile t = { .row = (uint32_t)first,
                               .n_rows = (uint32_t)(left < share ? left : share),
                               .cost = 1 };
    if (!t.n_rows)
        return t;
    t.list = qr_plan_list(g, seq, kv_head);
    t.keys = qr_tokens_keys(&g->config, s, t.row / g->ratio, (t.row + t.n_rows - 1) / g->ratio);
    if (t.keys.lo == t.keys.hi)
        return t;
    t.span = t.keys.lo / QUIRE_SPAN_KEYS;
    t.end_span = (t.keys.hi - 1) / QUIRE_SPAN_KEYS + 1;
    struct qr_sparse_count seen = { t.keys.hi - t.keys.lo, t.end_span - t.span };
    if (t.list)
        seen = qr_sparse_count(t.list, plan->kv->block_size, t.keys);
    if (!seen.spans)
        t.end_span = t.span;
    t.n_live = seen.spans;
    t.cost += (uint64_t)seen.keys * (t.n_rows + QR_ROW_OVERHEAD);
    return t;
}

uint32_t qr_divide_pieces(const struct qr_divider *d, uint32_t n_spans, uint64_t cost)
{
    if (d->plan->flags & QUIRE_PLAN_FAST || n_spans < 2 || cost < d->target + d->target / 2)
        return 1;
    const uint64_t per_span = cost / n_spans + 1,
                   spans_each = d->target / per_span ? d->target / per_span : 1;
    return (uint32_t)((n_spans + spans_each - 1) / spans_each);
}

void qr_divide_emit(struct qr_divider *d, struct qr_plan_item item, uint64_t cost)
{
    d->plan->order_cost[d->g->n_items] = 63 - (uint32_t)__builtin_clzll(cost | 1);
    d->plan->sorted[d->g->n_items++] = item;
}

/* The end of a piece of `live` live spans that begins at `span`; dead ones after it are its own. */
static uint32_t piece_end(const struct qr_divider *d, const struct qr_query_tile *t, uint32_t span,
                          uint32_t live)
{
    if (!t->list)
        return span + live;
    for (; span < t->end_span; span++) {
        const uint32_t begin = span * QUIRE_SPAN_KEYS, lo = begin > t->keys.lo ? begin : t->keys.lo,
                       hi = t->keys.hi - begin < QUIRE_SPAN_KEYS ? t->keys.hi
                                                                 : begin + QUIRE_SPAN_KEYS;
        const bool is_live = qr_sparse_any(t->list, d->plan->kv->block_size, lo, hi);
        if (is_live && live == 0)
            break;
        live -= is_live;
    }
    return span;
}

/* The tile in n pieces of similarly many live spans, if the plan has room for their states. */
static bool emit_split(struct qr_divider *d, struct qr_plan_item whole,
                       const struct qr_query_tile *t, uint32_t n)
{
    struct qr_plan_group *g = d->g;
    const uint32_t share = t->n_live / n, more = t->n_live % n,
                   first_end = piece_end(d, t, t->span, share + (more != 0)),
                   slots = 1 + t->end_span - first_end;
    const size_t floats = slots * qr_plan_slot_floats(g, t->n_rows);
    if (g->n_joins == g->max_joins || floats > d->plan->partial_floats - d->partials_used ||
        n - 1 > d->splits_left)
        return false;
    d->splits_left -= n - 1;
    g->joins[g->n_joins] = (struct qr_plan_join){ 0, n, slots, d->partials_used };
    d->partials_used += floats;
    whole.join = (int32_t)g->n_joins++;
    uint32_t span = t->span;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t live = share + (i < more);
        struct qr_plan_item item = whole;
        item.span = span;
        item.end_span = span = piece_end(d, t, span, live);
        item.slot = i ? item.span - first_end + 1 : 0;
        qr_divide_emit(d, item, t->cost / t->n_live * live);
    }
    return true;
}

static void emit_tile(struct qr_divider *d, uint32_t seq, uint32_t kv_head,
                      const struct qr_query_tile *t)
{
    const struct qr_plan_item whole = { .seq = seq,
                                        .kv_head = kv_head,
                                        .row = t->row,
                                        .n_rows = t->n_rows,
                                        .span = t->span,
                                        .end_span = t->end_span,
                                        .join = -1,
                                        .cascade = QR_CASCADE_NONE };
    const uint32_t n = qr_divide_pieces(d, t->n_live, t->cost);
    if (n == 1 || !emit_split(d, whole, t, n))
        qr_divide_emit(d, whole, t->cost);
}

/* Costly items first, so that what is left at the end is small; otherwise in the order they were
 * made, which keeps the tiles of one KV head together. */
static void sort_items(const struct quire_plan *plan, struct qr_plan_group *g)
{
    uint32_t start[N_CLASSES + 1] = { 0 };
    for (uint32_t i = 0; i < g->n_items; i++)
        start[N_CLASSES - 1 - plan->order_cost[i] + 1]++;
    for (uint32_t c = 0; c < N_CLASSES; c++)
        start[c + 1] += start[c];
    for (uint32_t i = 0; i < g->n_items; i++)
        g->items[start[N_CLASSES - 1 - plan->order_cost[i]]++] = plan->sorted[i];
}

/* Cost of all tiles of a sequence. */
static uint64_t cost_of(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq)
{
    const uint32_t n = qr_tiles_of(g, &plan->seqs[seq]), kv_heads = g->config.num_kv_heads,
                   different = g->sparse ? kv_heads : 1;
    uint64_t cost = 0;
    for (uint32_t h = 0; h < different; h++)
        for (uint32_t i = 0; i < n; i++)
            cost += qr_tile_at(plan, g, seq, h, i, n).cost;
    return cost * (kv_heads / different);
}

/* All tiles of a sequence that is in no cascade. */
static void emit_seq(struct qr_divider *d, uint32_t seq)
{
    const struct qr_plan_group *g = d->g;
    const uint32_t n = qr_tiles_of(g, &d->plan->seqs[seq]);
    const bool keep = n <= N_KEPT && !g->sparse;
    struct qr_query_tile kept[N_KEPT], own;
    for (uint32_t i = 0; keep && i < n; i++)
        kept[i] = qr_tile_at(d->plan, g, seq, 0, i, n);
    for (uint32_t h = 0; h < g->config.num_kv_heads; h++)
        for (uint32_t i = n; i-- > 0;) { /* the last tile of a causal prompt sees most keys */
            const struct qr_query_tile *t = keep ? &kept[i] : &own;
            if (!keep)
                own = qr_tile_at(d->plan, g, seq, h, i, n);
            if (t->n_rows)
                emit_tile(d, seq, h, t);
        }
}

void qr_plan_divide(struct quire_plan *plan, struct qr_plan_group *g)
{
    uint64_t total = 0;
    qr_cascade_find(plan, g);
    for (uint32_t s = 0; s < plan->num_seqs; s++)
        total += cost_of(plan, g, s);
    total -= qr_cascade_saving(g);
    const uint64_t target = total / (ITEMS_PER_THREAD * (uint64_t)plan->n_threads);
    struct qr_divider d = { .plan = plan, .g = g, .target = target + 1 };
    d.splits_left = QR_SPLITS_PER_THREAD * plan->n_threads;
    if (plan->n_threads == 1) /* nobody to share with */
        d.target = UINT64_MAX / 2;
    g->n_items = g->n_joins = 0;
    qr_cascade_divide(&d);
    for (uint32_t s = 0; s < plan->num_seqs; s++)
        if (qr_cascade_has(plan, g, s))
            qr_cascade_emit_rest(&d, s);
        else
            emit_seq(&d, s);
    sort_items(plan, g);
}
