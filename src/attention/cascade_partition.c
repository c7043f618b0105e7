/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_partition.c - work items of cascades and of their members, and the members' reductions.
 *
 * A member's rows of one KV head are one tile with a reduction. Its spans are covered by work items
 * of its cascades and, between these, of its own. The first item accumulates its spans in partial
 * 0; every later span has a partial of its own. */
#include "attention/cascade_partition.h"
#include "attention/cascade_detect.h"
#include "attention/partition.h"
#include "attention/query_tile.h"
#include "attention/splitkv.h"
#include "attention/work_list.h"
#include "base/checked.h"

enum { NONE = QR_CASCADE_NONE };
/* Average number of partials of a decode sequence. */
enum { TYPICAL_PARTIALS = 32 };

static uint64_t cascade_keys(const struct qr_cascade *c)
{
    return (uint64_t)(c->end_span - c->span) * QR_SPAN_KEYS;
}

uint64_t qr_cascade_saving(const struct qr_plan_group *g)
{
    uint64_t saving = 0;
    for (uint32_t i = 0; i < g->n_cascades; i++)
        saving +=
            cascade_keys(&g->cascades[i]) * QR_KEY_LOAD_COST_ROWS * (g->cascades[i].n_members - 1);
    return saving * g->config.n_kv_heads;
}

bool qr_cascade_reserve(struct quire_plan *plan, struct qr_plan_group *g)
{
    const size_t heads = g->config.n_kv_heads, seqs = plan->max_seqs;
    const bool forced = plan->flags & QUIRE_PLAN_CASCADE;
    size_t items, floats;
    g->max_cascades = g->max_members = 0;
    if (seqs < 2 || plan->flags & QUIRE_PLAN_NO_CASCADE ||
        (plan->flags & QUIRE_PLAN_FAST && !forced))
        return true;
    /* one item per cascade and one before each membership of a sequence; max_items already counts
     * the one after the last membership */
    g->max_members = 2 * plan->max_seqs;
    g->max_cascades = plan->max_seqs;
    if (!qr_mul_size(seqs, 3 * heads, &items) || items > UINT32_MAX / 2 - g->max_items)
        return false;
    g->max_items += (uint32_t)items;
    g->max_reductions += (uint32_t)(seqs * heads);
    const size_t spans = (plan->max_seq_len - 1) / QR_SPAN_KEYS + 1,
                 n_partials = spans < TYPICAL_PARTIALS ? spans : TYPICAL_PARTIALS,
                 largest = n_partials * qr_partial_floats(g, g->tile_rows),
                 typical = TYPICAL_PARTIALS * qr_partial_floats(g, g->gqa_ratio);
    if (!qr_mul3_size(seqs, heads, forced || largest < typical ? largest : typical, &floats))
        return false;
    plan->n_cascade_floats = floats > plan->n_cascade_floats ? floats : plan->n_cascade_floats;
    return true;
}

/* ---- splits: ranges of spans, cut into about equal work items */

/* First span of split i of n; i == n: end_span. */
static uint32_t split_begin(uint32_t span, uint32_t end_span, uint32_t i, uint32_t n)
{
    const uint32_t spans = end_span - span, more = spans % n;
    return span + spans / n * i + (i < more ? i : more);
}

static uint32_t num_splits(const struct qr_partitioner *p, uint32_t n_spans, uint64_t cost)
{
    const uint32_t n = qr_work_list_num_splits(p, n_spans, cost) >> p->cascade_shift;
    return n ? n : 1;
}

static uint32_t cascade_splits(const struct qr_partitioner *p, const struct qr_cascade *c)
{
    return num_splits(p, c->end_span - c->span,
                      cascade_keys(c) * (c->n_rows + QR_KEY_LOAD_COST_ROWS));
}

/* Number of splits of a member's own spans [span, end_span); 0 if the range is empty. */
static uint32_t own_splits(const struct qr_partitioner *p, const struct qr_query_tile *t,
                           uint32_t span, uint32_t end_span)
{
    const uint32_t n = end_span - span;
    return n ? num_splits(p, n, t->cost / (t->end_span - t->span) * n) : 0;
}

/* ---- reductions of members */

static struct qr_query_tile member_tile(const struct qr_partitioner *p, uint32_t seq)
{
    struct qr_query_tile t;
    qr_query_tile_get(p->plan, p->g, seq, 0, 0, 1, &t);
    return t;
}

/* A range of a member's own spans, before one of its memberships or after the last one. */
struct own_range {
    uint32_t span, end_span;
    uint32_t member; /* the membership that follows, or NONE */
};

/* The range that follows membership `member`; NONE: the first range. */
static struct own_range next_range(const struct qr_partitioner *p, const struct qr_query_tile *t,
                                   uint32_t seq, uint32_t member)
{
    const struct qr_plan_group *g = p->g;
    struct own_range r = { .span = t->span, .end_span = t->end_span };
    r.member = p->plan->cascade_seqs[seq].first_member;
    if (member != NONE) {
        r.span = g->cascades[g->members[member].cascade].end_span;
        r.member = g->members[member].next;
    }
    if (r.member != NONE)
        r.end_span = g->cascades[g->members[r.member].cascade].span;
    return r;
}

/* Shape of the reduction of one KV head of a member. */
struct reduction_shape {
    uint32_t n_items, n_partials, first_end;
    uint32_t extra_items; /* beyond one for each range of own spans */
};

static struct reduction_shape shape_reduction(const struct qr_partitioner *p,
                                              const struct qr_query_tile *t, uint32_t seq)
{
    const struct qr_plan_group *g = p->g;
    struct reduction_shape m = { .first_end = 0 };
    for (struct own_range r = next_range(p, t, seq, NONE);; r = next_range(p, t, seq, r.member)) {
        const uint32_t n = own_splits(p, t, r.span, r.end_span);
        if (n && !m.n_items)
            m.first_end = split_begin(r.span, r.end_span, 1, n);
        m.extra_items += n ? n - 1 : 0;
        m.n_items += n;
        if (r.member == NONE)
            break;
        const struct qr_cascade *c = &g->cascades[g->members[r.member].cascade];
        if (!m.n_items)
            m.first_end = split_begin(c->span, c->end_span, 1, c->n_splits);
        m.n_items += c->n_splits;
    }
    m.n_partials = 1 + t->end_span - m.first_end;
    return m;
}

static size_t reduction_floats(const struct qr_plan_group *g, const struct qr_query_tile *t,
                               const struct reduction_shape *m)
{
    return m->n_partials * qr_partial_floats(g, t->n_rows) * g->config.n_kv_heads;
}

/* Partials and split budget that the current split counts require. */
struct requirement {
    size_t floats;
    uint64_t splits;
};

static struct requirement find_requirement(const struct qr_partitioner *p)
{
    const struct qr_plan_group *g = p->g;
    struct requirement required = { 0, 0 };
    for (uint32_t i = 0; i < g->n_cascades; i++)
        required.splits += g->cascades[i].n_splits - 1;
    for (uint32_t s = 0; s < p->plan->n_seqs; s++) {
        if (!qr_cascade_has(p->plan, g, s))
            continue;
        const struct qr_query_tile t = member_tile(p, s);
        const struct reduction_shape m = shape_reduction(p, &t, s);
        required.floats += reduction_floats(g, &t, &m);
        required.splits += m.extra_items;
    }
    required.splits *= g->config.n_kv_heads;
    return required;
}

/* Chooses the number of splits of each cascade: the most that the limits allow. */
static void choose_splits(struct qr_partitioner *p)
{
    struct qr_plan_group *g = p->g;
    struct requirement required;
    for (;; p->cascade_shift++) {
        for (uint32_t i = 0; i < g->n_cascades; i++)
            g->cascades[i].n_splits = cascade_splits(p, &g->cascades[i]);
        required = find_requirement(p);
        if (!required.splits ||
            (required.splits <= p->split_budget && required.floats <= p->plan->n_cascade_floats))
            break;
    }
    p->split_budget -= (uint32_t)required.splits;
}

/* Creates a member's reductions, or removes it from its cascades if the plan lacks memory. */
static void add_reductions(struct qr_partitioner *p, uint32_t seq)
{
    struct qr_plan_group *g = p->g;
    const struct qr_query_tile t = member_tile(p, seq);
    const struct reduction_shape m = shape_reduction(p, &t, seq);
    const size_t floats = reduction_floats(g, &t, &m);
    uint32_t *const first = &p->plan->cascade_seqs[seq].first_member;
    const bool room = floats <= p->plan->n_cascade_floats - p->partials_used;
    for (uint32_t i = *first; i != NONE; i = g->members[i].next) {
        struct qr_cascade_member *member = &g->members[i];
        member->reduction = g->n_reductions;
        member->first_end = m.first_end;
        if (!room) {
            g->cascades[member->cascade].n_rows -= t.n_rows;
            member->seq = NONE;
        }
    }
    if (!room) {
        *first = NONE;
        return;
    }
    for (uint32_t h = 0; h < g->config.n_kv_heads; h++) {
        g->reductions[g->n_reductions++] =
            (struct qr_reduction){ 0, m.n_items, m.n_partials, p->partials_used };
        p->partials_used += floats / g->config.n_kv_heads;
    }
}

/* ---- work items */

/* Emits one item per KV head and split of [item.span, item.end_span). first_end is the end of the
 * member's first item if the spans are its own. */
static void emit_splits(struct qr_partitioner *p, struct qr_work_item item, uint32_t n,
                        uint32_t first_end, uint64_t cost)
{
    const uint32_t span = item.span, end_span = item.end_span;
    const int32_t reduction = item.reduction;
    for (uint32_t h = 0; h < p->g->config.n_kv_heads; h++)
        for (uint32_t i = 0; i < n; i++) {
            item.kv_head = h;
            item.reduction = reduction < 0 ? reduction : reduction + (int32_t)h;
            item.span = split_begin(span, end_span, i, n);
            item.end_span = split_begin(span, end_span, i + 1, n);
            item.partial = item.span < first_end ? 0 : item.span - first_end + 1;
            qr_work_list_append(p, &item, 1, cost / n);
        }
}

void qr_cascade_partition(struct qr_partitioner *p)
{
    const struct qr_plan_group *g = p->g;
    if (!g->n_cascades)
        return;
    choose_splits(p);
    for (uint32_t s = 0; s < p->plan->n_seqs; s++)
        if (qr_cascade_has(p->plan, g, s))
            add_reductions(p, s);
    for (uint32_t i = 0; i < g->n_cascades; i++) {
        const struct qr_cascade *c = &g->cascades[i];
        struct qr_work_item item = { .span = c->span, .end_span = c->end_span, .reduction = -1 };
        item.cascade = i;
        if (!c->n_rows) /* all members were removed */
            continue;
        emit_splits(p, item, c->n_splits, 0, cascade_keys(c) * (c->n_rows + QR_KEY_LOAD_COST_ROWS));
    }
}

void qr_cascade_emit_own_spans(struct qr_partitioner *p, uint32_t seq)
{
    const struct qr_cascade_member *first = &p->g->members[p->plan->cascade_seqs[seq].first_member];
    const struct qr_query_tile t = member_tile(p, seq);
    struct qr_work_item item = { .seq = seq, .n_rows = t.n_rows, .cascade = NONE };
    item.reduction = (int32_t)first->reduction;
    for (struct own_range r = next_range(p, &t, seq, NONE);; r = next_range(p, &t, seq, r.member)) {
        const uint32_t n = own_splits(p, &t, r.span, r.end_span);
        item.span = r.span;
        item.end_span = r.end_span;
        if (n)
            emit_splits(p, item, n, first->first_end,
                        t.cost / (t.end_span - t.span) * (r.end_span - r.span));
        if (r.member == NONE)
            break;
    }
}
