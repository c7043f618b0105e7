/* SPDX-License-Identifier: Apache-2.0 */
/* plan_divide.c - cuts the work of a batch into items of similar cost. Only who computes what
 * depends on it. */
#include "attention/plan.h"
#include <string.h>

enum {
    ITEMS_PER_THREAD = 4, /* so that a slow neighbour on one core costs little */
    ROW_OVERHEAD = 12,    /* loading a key costs about as much as scoring it for so many rows */
    N_CLASSES = 64        /* of cost, by power of two */
};

/* A query tile: rows [row, row + n_rows) of a sequence, and the spans that they see. */
struct tile {
    uint32_t row, n_rows, span, end_span;
    uint64_t cost; /* keys times rows */
};

static uint32_t tiles_of(const struct qr_plan_group *g, const struct qr_plan_seq *s)
{
    const uint64_t rows = (uint64_t)s->n_tokens * g->ratio;
    return (uint32_t)((rows + g->tile_rows - 1) / g->tile_rows);
}

/* Tile i of n equal ones (whole register tiles of 6 rows where that is possible). */
static struct tile tile_at(const struct qr_plan_group *g, const struct qr_plan_seq *s, uint32_t i,
                           uint32_t n)
{
    const uint64_t rows = (uint64_t)s->n_tokens * g->ratio;
    uint64_t share = (rows + n - 1) / n;
    share = (share + 5) / 6 * 6 < g->tile_rows ? (share + 5) / 6 * 6 : g->tile_rows;
    const uint64_t first = share * i < rows ? share * i : rows, left = rows - first;
    struct tile t = { .row = (uint32_t)first, .n_rows = (uint32_t)(left < share ? left : share) };
    if (!t.n_rows)
        return t;
    const struct qr_key_range keys =
        qr_tokens_keys(&g->config, s, t.row / g->ratio, (t.row + t.n_rows - 1) / g->ratio);
    if (keys.lo < keys.hi) {
        t.span = keys.lo / QUIRE_SPAN_KEYS;
        t.end_span = (keys.hi - 1) / QUIRE_SPAN_KEYS + 1;
    }
    t.cost = (uint64_t)(keys.hi - keys.lo) * (t.n_rows + ROW_OVERHEAD) + 1;
    return t;
}

/* Items that tile t is worth at `target` cost each; 1 when it stays whole. */
static uint32_t pieces_of(const struct tile *t, uint64_t target)
{
    const uint32_t spans = t->end_span - t->span;
    if (spans < 2 || t->cost < target + target / 2)
        return 1;
    const uint64_t per_span = t->cost / spans + 1,
                   spans_each = target / per_span ? target / per_span : 1;
    return (uint32_t)((spans + spans_each - 1) / spans_each);
}

struct divider {
    struct quire_plan *plan;
    struct qr_plan_group *g;
    uint64_t target;
    size_t partials_used;
};

static void emit(struct divider *d, struct qr_plan_item item, uint64_t cost)
{
    d->plan->order_cost[d->g->n_items] = 63 - (uint32_t)__builtin_clzll(cost | 1);
    d->plan->sorted[d->g->n_items++] = item;
}

/* The tile in n pieces, if the plan has room for their states. */
static bool emit_split(struct divider *d, struct qr_plan_item whole, const struct tile *t,
                       uint32_t n)
{
    struct qr_plan_group *g = d->g;
    const uint32_t spans = t->end_span - t->span, first = spans / n + (spans % n != 0),
                   slots = 1 + spans - first;
    const size_t floats = slots * qr_plan_slot_floats(g, t->n_rows);
    if (g->n_joins == g->max_joins || floats > d->plan->partial_floats - d->partials_used ||
        g->n_items + n > g->max_items)
        return false;
    g->joins[g->n_joins] = (struct qr_plan_join){ 0, n, slots, d->partials_used };
    d->partials_used += floats;
    whole.join = (int32_t)g->n_joins++;
    uint32_t span = t->span;
    for (uint32_t i = 0; i < n; i++) {
        struct qr_plan_item item = whole;
        item.span = span;
        item.end_span = span += spans / n + (i < spans % n);
        item.slot = i ? item.span - (t->span + first) + 1 : 0;
        emit(d, item, t->cost / spans * (item.end_span - item.span));
    }
    return true;
}

static void emit_tile(struct divider *d, uint32_t seq, uint32_t kv_head, const struct tile *t)
{
    const struct qr_plan_item whole = { .seq = seq,
                                        .kv_head = kv_head,
                                        .row = t->row,
                                        .n_rows = t->n_rows,
                                        .span = t->span,
                                        .end_span = t->end_span,
                                        .join = -1 };
    const uint32_t n = d->plan->flags & QUIRE_PLAN_FAST ? 1 : pieces_of(t, d->target);
    if (n == 1 || !emit_split(d, whole, t, n))
        emit(d, whole, t->cost);
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

void qr_plan_divide(struct quire_plan *plan, struct qr_plan_group *g)
{
    const uint32_t kv_heads = g->config.num_kv_heads;
    uint64_t total = 0;
    for (uint32_t s = 0; s < plan->num_seqs; s++) {
        const uint32_t n = tiles_of(g, &plan->seqs[s]);
        for (uint32_t i = 0; i < n; i++)
            total += tile_at(g, &plan->seqs[s], i, n).cost;
    }
    const uint64_t target = total * kv_heads / (ITEMS_PER_THREAD * (uint64_t)plan->n_threads);
    /* alone there is nobody to share with, and a piece below one span cannot be cut */
    struct divider d = { plan, g, plan->n_threads == 1 ? UINT64_MAX / 2 : target + 1, 0 };
    g->n_items = g->n_joins = 0;
    for (uint32_t s = 0; s < plan->num_seqs; s++) {
        const uint32_t n = tiles_of(g, &plan->seqs[s]);
        struct tile t = { 0 };
        for (uint32_t h = 0; h < kv_heads; h++)
            for (uint32_t i = n; i-- > 0;) { /* the last tile of a causal prompt sees most keys */
                if (n > 1 || h == 0)
                    t = tile_at(g, &plan->seqs[s], i, n);
                if (t.n_rows)
                    emit_tile(&d, s, h, &t);
            }
    }
    sort_items(plan, g);
}
