/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_divide.c - the items of cascades and their members, and where the states of spans meet.
 *
 * A member's rows of one KV head are one tile with a join. Its spans are covered by items in turn,
 * those of its cascades and, between them, those of its own. The first item adds its spans up in
 * slot 0; each later span has a slot. */
#include "attention/cascade.h"
#include "base/checked.h"

enum { NONE = QR_CASCADE_NONE };
/* Slots of a sequence of one token, on average. */
enum { USUAL_SLOTS = 32 };

static uint64_t keys_of(const struct qr_cascade *c)
{
    return (uint64_t)(c->end_span - c->span) * QR_SPAN_KEYS;
}

uint64_t qr_cascade_saving(const struct qr_plan_group *g)
{
    uint64_t saving = 0;
    for (uint32_t i = 0; i < g->n_cascades; i++)
        saving += keys_of(&g->cascades[i]) * QR_ROW_OVERHEAD * (g->cascades[i].n_members - 1);
    return saving * g->config.n_kv_heads;
}

bool qr_cascade_size(struct quire_plan *plan, struct qr_plan_group *g)
{
    const size_t heads = g->config.n_kv_heads, seqs = plan->max_seqs;
    const bool forced = plan->flags & QUIRE_PLAN_CASCADE;
    size_t items, floats;
    g->max_cascades = g->max_members = 0;
    if (seqs < 2 || plan->flags & QUIRE_PLAN_NO_CASCADE ||
        (plan->flags & QUIRE_PLAN_FAST && !forced))
        return true;
    /* an item per cascade, and one before each part of a sequence; that behind the last is counted
     * already */
    g->max_members = 2 * plan->max_seqs;
    g->max_cascades = plan->max_seqs;
    if (!qr_mul_size(seqs, 3 * heads, &items) || items > UINT32_MAX / 2 - g->max_items)
        return false;
    g->max_items += (uint32_t)items;
    g->max_joins += (uint32_t)(seqs * heads);
    const size_t spans = (plan->max_seq_len - 1) / QR_SPAN_KEYS + 1,
                 slots = spans < USUAL_SLOTS ? spans : USUAL_SLOTS,
                 most = slots * qr_plan_slot_floats(g, g->tile_rows),
                 usual = USUAL_SLOTS * qr_plan_slot_floats(g, g->ratio);
    if (!qr_mul3_size(seqs, heads, forced || most < usual ? most : usual, &floats))
        return false;
    plan->cascade_floats = floats > plan->cascade_floats ? floats : plan->cascade_floats;
    return true;
}

/* ---- pieces: runs of spans, cut into items of similarly many */

/* Where piece i of n begins; i == n: the end. */
static uint32_t piece_begin(uint32_t span, uint32_t end_span, uint32_t i, uint32_t n)
{
    const uint32_t spans = end_span - span, more = spans % n;
    return span + spans / n * i + (i < more ? i : more);
}

static uint32_t pieces(const struct qr_divider *d, uint32_t n_spans, uint64_t cost)
{
    const uint32_t n = qr_divide_pieces(d, n_spans, cost) >> d->coarser;
    return n ? n : 1;
}

static uint32_t cascade_pieces(const struct qr_divider *d, const struct qr_cascade *c)
{
    return pieces(d, c->end_span - c->span, keys_of(c) * (c->n_rows + QR_ROW_OVERHEAD));
}

/* Pieces for spans [span, end_span) that a member has to itself; 0 for none. */
static uint32_t own_pieces(const struct qr_divider *d, const struct qr_query_tile *t, uint32_t span,
                           uint32_t end_span)
{
    const uint32_t n = end_span - span;
    return n ? pieces(d, n, t->cost / (t->end_span - t->span) * n) : 0;
}

/* ---- joins of members */

static struct qr_query_tile tile_of(const struct qr_divider *d, uint32_t seq)
{
    struct qr_query_tile t;
    qr_tile_at(d->plan, d->g, seq, 0, 0, 1, &t);
    return t;
}

/* Runs of spans that a member has to itself and that lie before its parts of cascades and behind
 * the last one. */
struct own_run {
    uint32_t span, end_span;
    uint32_t member; /* the part behind it; NONE */
};

/* The run behind the part `member`; NONE: the first one. */
static struct own_run next_run(const struct qr_divider *d, const struct qr_query_tile *t,
                               uint32_t seq, uint32_t member)
{
    const struct qr_plan_group *g = d->g;
    struct own_run r = { .span = t->span, .end_span = t->end_span };
    r.member = d->plan->cascade_seqs[seq].first_member;
    if (member != NONE) {
        r.span = g->cascades[g->members[member].cascade].end_span;
        r.member = g->members[member].next;
    }
    if (r.member != NONE)
        r.end_span = g->cascades[g->members[r.member].cascade].span;
    return r;
}

/* What the join of one KV head of a member holds. */
struct meeting {
    uint32_t n_items, n_slots, first_end;
    uint32_t own_splits; /* items beyond one for each run of its own */
};

static struct meeting meeting_of(const struct qr_divider *d, const struct qr_query_tile *t,
                                 uint32_t seq)
{
    const struct qr_plan_group *g = d->g;
    struct meeting m = { .first_end = 0 };
    for (struct own_run r = next_run(d, t, seq, NONE);; r = next_run(d, t, seq, r.member)) {
        const uint32_t n = own_pieces(d, t, r.span, r.end_span);
        if (n && !m.n_items)
            m.first_end = piece_begin(r.span, r.end_span, 1, n);
        m.own_splits += n ? n - 1 : 0;
        m.n_items += n;
        if (r.member == NONE)
            break;
        const struct qr_cascade *c = &g->cascades[g->members[r.member].cascade];
        if (!m.n_items)
            m.first_end = piece_begin(c->span, c->end_span, 1, c->n_pieces);
        m.n_items += c->n_pieces;
    }
    m.n_slots = 1 + t->end_span - m.first_end;
    return m;
}

static size_t floats_of(const struct qr_plan_group *g, const struct qr_query_tile *t,
                        const struct meeting *m)
{
    return m->n_slots * qr_plan_slot_floats(g, t->n_rows) * g->config.n_kv_heads;
}

/* What all joins of members, and all splits, would take. */
struct need {
    size_t floats;
    uint64_t splits;
};

static struct need need_of(const struct qr_divider *d)
{
    const struct qr_plan_group *g = d->g;
    struct need need = { 0, 0 };
    for (uint32_t i = 0; i < g->n_cascades; i++)
        need.splits += g->cascades[i].n_pieces - 1;
    for (uint32_t s = 0; s < d->plan->n_seqs; s++) {
        if (!qr_cascade_has(d->plan, g, s))
            continue;
        const struct qr_query_tile t = tile_of(d, s);
        const struct meeting m = meeting_of(d, &t, s);
        need.floats += floats_of(g, &t, &m);
        need.splits += m.own_splits;
    }
    need.splits *= g->config.n_kv_heads;
    return need;
}

/* Chooses the number of pieces of each cascade, as many as there is room for. */
static void cut(struct qr_divider *d)
{
    struct qr_plan_group *g = d->g;
    struct need need;
    for (;; d->coarser++) {
        for (uint32_t i = 0; i < g->n_cascades; i++)
            g->cascades[i].n_pieces = cascade_pieces(d, &g->cascades[i]);
        need = need_of(d);
        if (!need.splits ||
            (need.splits <= d->splits_left && need.floats <= d->plan->cascade_floats))
            break;
    }
    d->splits_left -= (uint32_t)need.splits;
}

/* Makes a sequence's joins, or takes it out of its cascades when there is no room for them. */
static void settle(struct qr_divider *d, uint32_t seq)
{
    struct qr_plan_group *g = d->g;
    const struct qr_query_tile t = tile_of(d, seq);
    const struct meeting m = meeting_of(d, &t, seq);
    const size_t floats = floats_of(g, &t, &m);
    uint32_t *const first = &d->plan->cascade_seqs[seq].first_member;
    const bool room = floats <= d->plan->cascade_floats - d->partials_used;
    for (uint32_t i = *first; i != NONE; i = g->members[i].next) {
        struct qr_cascade_member *member = &g->members[i];
        member->join = g->n_joins;
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
        g->joins[g->n_joins++] = (struct qr_plan_join){ 0, m.n_items, m.n_slots, d->partials_used };
        d->partials_used += floats / g->config.n_kv_heads;
    }
}

/* ---- items */

/* One item per KV head and piece of spans [span, end_span). Of a member's own run, slots begin
 * after first_end. */
static void emit_run(struct qr_divider *d, struct qr_plan_item item, uint32_t n, uint32_t first_end,
                     uint64_t cost)
{
    const uint32_t span = item.span, end_span = item.end_span;
    const int32_t join = item.join;
    for (uint32_t h = 0; h < d->g->config.n_kv_heads; h++)
        for (uint32_t i = 0; i < n; i++) {
            item.kv_head = h;
            item.join = join < 0 ? join : join + (int32_t)h;
            item.span = piece_begin(span, end_span, i, n);
            item.end_span = piece_begin(span, end_span, i + 1, n);
            item.slot = item.span < first_end ? 0 : item.span - first_end + 1;
            qr_divide_emit(d, &item, 1, cost / n);
        }
}

void qr_cascade_divide(struct qr_divider *d)
{
    const struct qr_plan_group *g = d->g;
    if (!g->n_cascades)
        return;
    cut(d);
    for (uint32_t s = 0; s < d->plan->n_seqs; s++)
        if (qr_cascade_has(d->plan, g, s))
            settle(d, s);
    for (uint32_t i = 0; i < g->n_cascades; i++) {
        const struct qr_cascade *c = &g->cascades[i];
        struct qr_plan_item item = { .span = c->span, .end_span = c->end_span, .join = -1 };
        item.cascade = i;
        if (!c->n_rows) /* nobody is left in it */
            continue;
        emit_run(d, item, c->n_pieces, 0, keys_of(c) * (c->n_rows + QR_ROW_OVERHEAD));
    }
}

void qr_cascade_emit_rest(struct qr_divider *d, uint32_t seq)
{
    const struct qr_cascade_member *first = &d->g->members[d->plan->cascade_seqs[seq].first_member];
    const struct qr_query_tile t = tile_of(d, seq);
    struct qr_plan_item item = { .seq = seq, .n_rows = t.n_rows, .cascade = NONE };
    item.join = (int32_t)first->join;
    for (struct own_run r = next_run(d, &t, seq, NONE);; r = next_run(d, &t, seq, r.member)) {
        const uint32_t n = own_pieces(d, &t, r.span, r.end_span);
        item.span = r.span;
        item.end_span = r.end_span;
        if (n)
            emit_run(d, item, n, first->first_end,
                     t.cost / (t.end_span - t.span) * (r.end_span - r.span));
        if (r.member == NONE)
            break;
    }
}
