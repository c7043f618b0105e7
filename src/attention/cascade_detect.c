/* SPDX-License-Identifier: Apache-2.0 */
/* cascade_detect.c - detects spans of keys that several sequences hold in the same blocks.
 *
 * The detection proceeds span by span. The sequences that see a whole span are grouped into sets by
 * the blocks that hold it: the first sequence with a given first block records its index for that
 * block and leads the set; later sequences with the same first block compare the remaining blocks.
 * Consecutive spans with the same set form one cascade. Every table entry is compared once. */
#include "attention/cascade_detect.h"
#include "attention/block_tables.h"
#include "attention/mask.h"
#include <string.h>

enum { SPAN = QR_SPAN_KEYS, NONE = QR_CASCADE_NONE };

/* A sequence whose rows fill more than 1 / FULL_TILE_SHARE of a tile gains little from a
 * cascade. */
enum { FULL_TILE_SHARE = 2 };

static uint32_t seq_rows(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq)
{
    return plan->seqs[seq].n_tokens * g->gqa_ratio;
}

/* Finds the spans that all queries of a sequence see entirely; none if a cascade does not pay. */
static void find_whole_spans(const struct quire_plan *plan, const struct qr_plan_group *g,
                             uint32_t seq, struct qr_cascade_seq *c)
{
    const struct qr_attn_seq *s = &plan->seqs[seq];
    const uint32_t max_rows =
        plan->flags & QUIRE_PLAN_CASCADE ? g->tile_rows : g->tile_rows / FULL_TILE_SHARE;
    *c = (struct qr_cascade_seq){ .changed = NONE, .first_member = NONE, .last_member = NONE };
    c->prev.leader = c->now.leader = NONE;
    if (!s->n_tokens || (uint64_t)s->n_tokens * g->gqa_ratio > max_rows || s->tree || s->n_spans)
        return;
    struct qr_key_range first = g->seq_blocks[seq].keys, last = first;
    if (s->n_tokens > 1) {
        first = qr_token_mask(&g->config, s, 0, NULL).range;
        last = qr_token_mask(&g->config, s, s->n_tokens - 1, NULL).range;
    }
    c->begin = last.lo / SPAN + (last.lo % SPAN != 0);
    c->end = first.hi / SPAN;
}

/* Ids of the blocks that hold a span; *n is their number. */
static const int32_t *span_blocks(const struct quire_plan *plan, const struct qr_plan_group *g,
                                  uint32_t seq, uint32_t span, uint32_t *n)
{
    const struct qr_seq_blocks *t = &g->seq_blocks[seq];
    const uint32_t size = plan->kv->block_size, first = span * SPAN / size;
    *n = (span * SPAN + SPAN - 1) / size + 1 - first;
    return g->block_ids + t->offset + (first - t->first);
}

/* Appends the sequence to the set with its blocks in this span. Sequences must be added in
 * ascending order. */
static void add_to_set(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                       uint32_t span)
{
    struct qr_cascade_seq *all = plan->cascade_seqs, *c = &all[seq];
    c->now = (struct qr_cascade_link){ .leader = NONE, .next = NONE, .last = seq, .n = 1 };
    if (span < c->begin || span >= c->end)
        return;
    uint32_t n, same;
    const int32_t *ids = span_blocks(plan, g, seq, span, &n);
    uint32_t *const hint = &plan->cascade_leaders[ids[0]];
    c->now.leader = seq;
    /* the entry may stem from another span, batch or group: it is only a hint */
    const uint32_t leader = *hint;
    if (leader < seq && all[leader].begin <= span && span < all[leader].end &&
        all[leader].now.leader == leader) {
        const int32_t *leader_ids = span_blocks(plan, g, leader, span, &same);
        if (leader_ids[0] == ids[0]) {
            if (memcmp(leader_ids, ids, n * sizeof *ids) != 0)
                return; /* only one set per first block */
            c->now.leader = leader;
            all[all[leader].now.last].now.next = seq;
            all[leader].now.last = seq;
            all[leader].now.n++;
            return;
        }
    }
    *hint = seq;
}

/* Adds a cascade of n sequences of a set, starting at `seq`, which share spans [span, end). Returns
 * the sequence after them. */
static uint32_t add_cascade(struct quire_plan *plan, struct qr_plan_group *g, uint32_t seq,
                            uint32_t n, uint32_t span, uint32_t end)
{
    struct qr_cascade *c = &g->cascades[g->n_cascades];
    *c = (struct qr_cascade){
        .first_member = g->n_members, .n_members = n, .span = span, .end_span = end
    };
    for (uint32_t i = 0; i < n; i++, seq = plan->cascade_seqs[seq].prev.next) {
        struct qr_cascade_seq *s = &plan->cascade_seqs[seq];
        g->members[g->n_members] =
            (struct qr_cascade_member){ .seq = seq, .cascade = g->n_cascades, .next = NONE };
        if (s->first_member == NONE)
            s->first_member = g->n_members;
        else
            g->members[s->last_member].next = g->n_members;
        s->last_member = g->n_members++;
        c->n_rows += seq_rows(plan, g, seq);
    }
    g->n_cascades++;
    return seq;
}

/* Adds the cascades of the set that `leader` had until span `end`, each with rows for one tile. */
static void add_set(struct quire_plan *plan, struct qr_plan_group *g, uint32_t leader, uint32_t end)
{
    const struct qr_cascade_seq *all = plan->cascade_seqs;
    uint32_t left = all[leader].prev.n;
    for (uint32_t seq = leader; left >= 2 && seq != NONE;) {
        uint32_t n = 0, rows = 0;
        for (uint32_t i = seq; n < left && rows + seq_rows(plan, g, i) <= g->tile_rows;
             i = all[i].prev.next, n++)
            rows += seq_rows(plan, g, i);
        if (left - n == 1 && n > 2) /* leave two: one sequence alone forms no cascade */
            n--;
        if (g->n_cascades == g->max_cascades || n > g->max_members - g->n_members)
            return;
        left -= n;
        seq = n < 2 ? all[seq].prev.next : add_cascade(plan, g, seq, n, all[leader].since, end);
    }
}

/* Compares the sets of a span with those of the previous span: sets that ended become cascades, and
 * new ones begin. Returns the head of the list of sequences left to examine. */
static uint32_t advance(struct quire_plan *plan, struct qr_plan_group *g, uint32_t head,
                        uint32_t span)
{
    struct qr_cascade_seq *all = plan->cascade_seqs;
    uint32_t *link = &head;
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        const uint32_t prev = all[i].prev.leader, now = all[i].now.leader;
        if (prev == now)
            continue;
        if (prev != NONE)
            all[prev].changed = span;
        if (now != NONE)
            all[now].changed = span;
    }
    for (uint32_t i = head; i != NONE; i = all[i].next)
        if (all[i].prev.leader == i && all[i].changed == span)
            add_set(plan, g, i, span);
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        if (all[i].now.leader == i && all[i].changed == span)
            all[i].since = span;
        all[i].prev = all[i].now;
        if (span < all[i].end)
            link = &all[i].next;
        else
            *link = all[i].next;
    }
    return head;
}

/* Whether two spans begin in the same block. If not, no span is shared. */
static bool any_shared(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t head)
{
    const struct qr_cascade_seq *all = plan->cascade_seqs;
    const uint32_t size = plan->kv->block_size, step = SPAN / size, rest = SPAN % size,
                   generation = qr_block_marks_new_generation(plan);
    uint32_t *const marks = plan->block_marks;
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        const struct qr_seq_blocks *t = &g->seq_blocks[i];
        const int32_t *ids = g->block_ids + t->offset + (all[i].begin * SPAN / size - t->first);
        uint32_t slot = all[i].begin * SPAN % size; /* of the first key of the span in its block */
        for (uint32_t left = all[i].end - all[i].begin; left; left--) {
            if (marks[*ids] == generation)
                return true;
            marks[*ids] = generation;
            ids += step;
            if (rest && (slot += rest) >= size) {
                slot -= size;
                ids++;
            }
        }
    }
    return false;
}

void qr_cascade_detect(struct quire_plan *plan, struct qr_plan_group *g)
{
    struct qr_cascade_seq *all = plan->cascade_seqs;
    uint32_t head = NONE, *link = &head, span = NONE;
    g->n_cascades = g->n_members = 0;
    if (!g->max_cascades || g->sparse)
        return;
    for (uint32_t i = 0; i < plan->n_seqs; i++) {
        find_whole_spans(plan, g, i, &all[i]);
        if (all[i].begin >= all[i].end)
            continue;
        span = all[i].begin < span ? all[i].begin : span;
        *link = i;
        link = &all[i].next;
    }
    *link = NONE;
    if (!any_shared(plan, g, head))
        return;
    for (; head != NONE && all[head].next != NONE; span++) {
        for (uint32_t i = head; i != NONE; i = all[i].next)
            add_to_set(plan, g, i, span);
        head = advance(plan, g, head, span);
    }
}
