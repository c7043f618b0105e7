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
    if (rows <= g->tile_rows)
        return rows != 0;
    return (uint32_t)((rows + g->tile_rows - 1) / g->tile_rows);
}

/* Rows and keys of tile i of n. */
static void cut_rows(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                     uint32_t i, uint32_t n, struct qr_query_tile *t)
{
    const struct qr_plan_seq *s = &plan->seqs[seq];
    const uint64_t rows = (uint64_t)s->n_tokens * g->ratio;
    if (n == 1) { /* decode, mostly */
        t->row = 0;
        t->n_rows = (uint32_t)rows;
        t->keys = g->tables[seq].keys;
        return;
    }
    uint64_t share = (rows + n - 1) / n;
    const uint64_t step = (uint64_t)g->table->attn_register_rows,
                   whole = (share + step - 1) / step * step;
    share = whole < g->tile_rows ? whole : g->tile_rows;
    const uint64_t first = share * i < rows ? share * i : rows, left = rows - first;
    t->row = (uint32_t)first;
    t->n_rows = (uint32_t)(left < share ? left : share);
    t->keys = (struct qr_key_range){ 0, 0 };
    if (t->n_rows)
        t->keys =
            qr_tokens_keys(&g->config, s, t->row / g->ratio, (t->row + t->n_rows - 1) / g->ratio);
}

void qr_tile_at(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                uint32_t kv_head, uint32_t i, uint32_t n, struct qr_query_tile *t)
{
    cut_rows(plan, g, seq, i, n, t);
    t->span = t->end_span = t->n_live = 0;
    t->list = qr_plan_list(g, seq, kv_head);
    t->cost = 1;
    if (t->keys.lo == t->keys.hi)
        return;
    t->span = t->keys.lo / QR_SPAN_KEYS;
    t->end_span = (t->keys.hi - 1) / QR_SPAN_KEYS + 1;
    struct qr_sparse_count seen = { t->keys.hi - t->keys.lo, t->end_span - t->span };
    if (t->list)
        seen = qr_sparse_count(t->list, plan->kv->block_size, t->keys);
    if (!seen.spans)
        t->end_span = t->span;
    t->n_live = seen.spans;
    t->cost += (uint64_t)seen.keys * (t->n_rows + QR_ROW_OVERHEAD);
}

uint32_t qr_divide_pieces(const struct qr_divider *d, uint32_t n_spans, uint64_t cost)
{
    if (d->plan->flags & QUIRE_PLAN_FAST || n_spans < 2 || cost < d->target + d->target / 2)
        return 1;
    const uint64_t per_span = cost / n_spans + 1,
                   spans_each = d->target / per_span ? d->target / per_span : 1;
    return (uint32_t)((n_spans + spans_each - 1) / spans_each);
}

void qr_divide_emit(struct qr_divider *d, const struct qr_plan_item *item, uint32_t n,
                    uint64_t cost)
{
    struct quire_plan *plan = d->plan;
    struct qr_plan_item *to = d->g->items + d->g->n_items;
    const uint32_t class = (uint32_t)__builtin_clzll(cost | 1);
    if (!plan->n_runs || plan->runs[plan->n_runs - 1].class != class)
        plan->runs[plan->n_runs++] = (struct qr_cost_run){ class, 0 };
    plan->runs[plan->n_runs - 1].n += n;
    struct qr_plan_item one = *item;
    for (uint32_t i = 0; i < n; i++, one.kv_head++)
        to[i] = one;
    d->g->n_items += n;
}

/* The end of a piece of `live` live spans that begins at `span`; dead ones after it are its own. */
static uint32_t piece_end(const struct qr_divider *d, const struct qr_query_tile *t, uint32_t span,
                          uint32_t live)
{
    if (!t->list)
        return span + live;
    for (; span < t->end_span; span++) {
        const uint32_t begin = span * QR_SPAN_KEYS, lo = begin > t->keys.lo ? begin : t->keys.lo,
                       hi = t->keys.hi - begin < QR_SPAN_KEYS ? t->keys.hi : begin + QR_SPAN_KEYS;
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
        qr_divide_emit(d, &item, 1, t->cost / t->n_live * live);
    }
    return true;
}

/* A tile, the item that it is as a whole, and how many it is worth. */
struct ready_tile {
    struct qr_query_tile tile;
    struct qr_plan_item whole;
    uint32_t n_pieces;
};

static void make_ready(const struct qr_divider *d, uint32_t seq, uint32_t kv_head, uint32_t i,
                       uint32_t n, struct ready_tile *r)
{
    const struct qr_query_tile *t = &r->tile;
    qr_tile_at(d->plan, d->g, seq, kv_head, i, n, &r->tile);
    r->n_pieces = qr_divide_pieces(d, t->n_live, t->cost);
    r->whole = (struct qr_plan_item){ .seq = seq,
                                      .kv_head = kv_head,
                                      .row = t->row,
                                      .n_rows = t->n_rows,
                                      .span = t->span,
                                      .end_span = t->end_span,
                                      .join = -1,
                                      .cascade = QR_CASCADE_NONE };
}

/* The tile for n KV heads to which it is the same. */
static void emit_tile(struct qr_divider *d, const struct ready_tile *r, uint32_t kv_head,
                      uint32_t n)
{
    struct qr_plan_item whole = r->whole;
    whole.kv_head = kv_head;
    for (; r->n_pieces > 1 && n && emit_split(d, whole, &r->tile, r->n_pieces); n--)
        whole.kv_head++;
    if (n)
        qr_divide_emit(d, &whole, n, r->tile.cost);
}

/* Costly items first, so that what is left at the end is small; otherwise in the order they were
 * made, which keeps the tiles of one KV head together. */
static void sort_items(const struct quire_plan *plan, struct qr_plan_group *g)
{
    const struct qr_cost_run *runs = plan->runs;
    uint32_t start[N_CLASSES + 1] = { 0 }, item = 0;
    for (uint32_t i = 0; i < plan->n_runs; i++)
        start[runs[i].class + 1] += runs[i].n;
    for (uint32_t c = 0; c < N_CLASSES; c++)
        start[c + 1] += start[c];
    for (uint32_t i = 0; i < plan->n_runs; i++) {
        const struct qr_cost_run run = runs[i];
        uint32_t *const order = g->order + start[run.class];
        for (uint32_t k = 0; k < run.n; k++)
            order[k] = item + k;
        start[run.class] += run.n;
        item += run.n;
    }
}

/* Cost of all tiles of a sequence. */
static uint64_t cost_of(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq)
{
    const uint32_t n = qr_tiles_of(g, &plan->seqs[seq]), kv_heads = g->config.n_kv_heads,
                   different = g->sparse ? kv_heads : 1;
    struct qr_query_tile t;
    uint64_t cost = 0;
    for (uint32_t h = 0; h < different; h++)
        for (uint32_t i = 0; i < n; i++) {
            qr_tile_at(plan, g, seq, h, i, n, &t);
            cost += t.cost;
        }
    return cost * (kv_heads / different);
}

/* All tiles of a sequence that is in no cascade. */
static void emit_seq(struct qr_divider *d, uint32_t seq)
{
    const struct qr_plan_group *g = d->g;
    const uint32_t n = qr_tiles_of(g, &d->plan->seqs[seq]);
    const bool keep = n <= N_KEPT && !g->sparse;
    struct ready_tile kept[N_KEPT], own;
    for (uint32_t i = 0; keep && i < n; i++)
        make_ready(d, seq, 0, i, n, &kept[i]);
    if (keep && n == 1) {
        emit_tile(d, kept, 0, g->config.n_kv_heads);
        return;
    }
    for (uint32_t h = 0; h < g->config.n_kv_heads; h++)
        for (uint32_t i = n; i-- > 0;) { /* the last tile of a causal prompt sees most keys */
            const struct ready_tile *r = keep ? &kept[i] : &own;
            if (!keep)
                make_ready(d, seq, h, i, n, &own);
            if (r->tile.n_rows)
                emit_tile(d, r, h, 1);
        }
}

void qr_plan_divide(struct quire_plan *plan, struct qr_plan_group *g)
{
    uint64_t total = 0;
    qr_cascade_find(plan, g);
    for (uint32_t s = 0; s < plan->n_seqs; s++)
        total += cost_of(plan, g, s);
    total -= qr_cascade_saving(g);
    const uint64_t target = total / (ITEMS_PER_THREAD * (uint64_t)plan->n_threads);
    struct qr_divider d = { .plan = plan, .g = g, .target = target + 1 };
    d.splits_left = QR_SPLITS_PER_THREAD * plan->n_threads;
    if (plan->n_threads == 1) /* nobody to share with */
        d.target = UINT64_MAX / 2;
    g->n_items = g->n_joins = plan->n_runs = 0;
    qr_cascade_divide(&d);
    for (uint32_t s = 0; s < plan->n_seqs; s++)
        if (qr_cascade_has(plan, g, s))
            qr_cascade_emit_rest(&d, s);
        else
            emit_seq(&d, s);
    sort_items(plan, g);
}
