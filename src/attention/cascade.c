/* SPDX-License-Identifier: Apache-2.0 */
/* cascade.c - finds spans of keys that several sequences hold in the same blocks.
 *
 * Spans are looked at one after another. In each, the sequences that see all of it are sorted into
 * lists by the blocks that hold it: the first sequence with some block at the span's beginning
 * leaves its number with that block, and others that come with the block compare the rest. As long
 * as a list stays the same its spans belong to one cascade. Every table entry is compared once. */
#include "attention/cascade.h"
#include "attention/keys.h"
#include <string.h>

enum { SPAN = QR_SPAN_KEYS, NONE = QR_CASCADE_NONE };

/* Rows that fill more than this part of a tile read keys for themselves about as well. */
enum { BUSY_SHARE = 2 };

static uint32_t rows_of(const struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq)
{
    return plan->seqs[seq].n_tokens * g->ratio;
}

/* Spans that all queries of a sequence see entirely; none for one that had better be alone. */
static void find_whole_spans(const struct quire_plan *plan, const struct qr_plan_group *g,
                             uint32_t seq, struct qr_cascade_seq *c)
{
    const struct qr_plan_seq *s = &plan->seqs[seq];
    const uint32_t most =
        plan->flags & QUIRE_PLAN_CASCADE ? g->tile_rows : g->tile_rows / BUSY_SHARE;
    *c = (struct qr_cascade_seq){ .changed = NONE, .first_member = NONE, .last_member = NONE };
    c->before.leader = c->now.leader = NONE;
    if (!s->n_tokens || (uint64_t)s->n_tokens * g->ratio > most || s->tree || s->n_spans)
        return;
    struct qr_key_range first = g->tables[seq].keys, last = first;
    if (s->n_tokens > 1) {
        first = qr_token_keys(&g->config, s, 0).range;
        last = qr_token_keys(&g->config, s, s->n_tokens - 1).range;
    }
    c->begin = last.lo / SPAN + (last.lo % SPAN != 0);
    c->end = first.hi / SPAN;
}

/* Ids of the blocks with keys of a span, and their number. */
static const int32_t *blocks_of(const struct quire_plan *plan, const struct qr_plan_group *g,
                                uint32_t seq, uint32_t span, uint32_t *n)
{
    const struct qr_plan_table *t = &g->tables[seq];
    const uint32_t size = plan->kv->block_size, first = span * SPAN / size;
    *n = (span * SPAN + SPAN - 1) / size + 1 - first;
    return g->blocks + t->at + (first - t->first);
}

/* Appends the sequence to the list of those with its blocks in this span. Earlier sequences have
 * been sorted in before. */
static void sort_in(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t seq,
                    uint32_t span)
{
    struct qr_cascade_seq *all = plan->cascade_seqs, *c = &all[seq];
    c->now = (struct qr_cascade_link){ .leader = NONE, .next = NONE, .last = seq, .n = 1 };
    if (span < c->begin || span >= c->end)
        return;
    uint32_t n, same;
    const int32_t *ids = blocks_of(plan, g, seq, span, &n);
    uint32_t *const owner = &plan->cascade_leaders[ids[0]];
    c->now.leader = seq;
    /* what a block remembers may be from another span, batch or group: it is only a hint */
    const uint32_t leader = *owner;
    if (leader < seq && all[leader].begin <= span && span < all[leader].end &&
        all[leader].now.leader == leader) {
        const int32_t *theirs = blocks_of(plan, g, leader, span, &same);
        if (theirs[0] == ids[0]) {
            if (memcmp(theirs, ids, n * sizeof *ids) != 0)
                return; /* only one list per first block */
            c->now.leader = leader;
            all[all[leader].now.last].now.next = seq;
            all[leader].now.last = seq;
            all[leader].now.n++;
            return;
        }
    }
    *owner = seq;
}

/* Adds a cascade of the n sequences of a list from `seq` on, which share spans [span, end). Returns
 * the rest of the list. */
static uint32_t add_cascade(struct quire_plan *plan, struct qr_plan_group *g, uint32_t seq,
                            uint32_t n, uint32_t span, uint32_t end)
{
    struct qr_cascade *c = &g->cascades[g->n_cascades];
    *c = (struct qr_cascade){
        .first_member = g->n_members, .n_members = n, .span = span, .end_span = end
    };
    for (uint32_t i = 0; i < n; i++, seq = plan->cascade_seqs[seq].before.next) {
        struct qr_cascade_seq *s = &plan->cascade_seqs[seq];
        g->members[g->n_members] =
            (struct qr_cascade_member){ .seq = seq, .cascade = g->n_cascades, .next = NONE };
        if (s->first_member == NONE)
            s->first_member = g->n_members;
        else
            g->members[s->last_member].next = g->n_members;
        s->last_member = g->n_members++;
        c->n_rows += rows_of(plan, g, seq);
    }
    g->n_cascades++;
    return seq;
}

/* Cascades of the list that `leader` had until `end`, each with rows for one tile. */
static void add_list(struct quire_plan *plan, struct qr_plan_group *g, uint32_t leader,
                     uint32_t end)
{
    const struct qr_cascade_seq *all = plan->cascade_seqs;
    uint32_t left = all[leader].before.n;
    for (uint32_t seq = leader; left >= 2 && seq != NONE;) {
        uint32_t n = 0, rows = 0;
        for (uint32_t i = seq; n < left && rows + rows_of(plan, g, i) <= g->tile_rows;
             i = all[i].before.next, n++)
            rows += rows_of(plan, g, i);
        if (left - n == 1 && n > 2) /* leave the last one company */
            n--;
        if (g->n_cascades == g->max_cascades || n > g->max_members - g->n_members)
            return;
        left -= n;
        seq = n < 2 ? all[seq].before.next : add_cascade(plan, g, seq, n, all[leader].since, end);
    }
}

/* Compares the lists of a span with those of the span before: lists that are no more become
 * cascades, and new ones begin. Returns the sequences that are still to be looked at. */
static uint32_t turn(struct quire_plan *plan, struct qr_plan_group *g, uint32_t head, uint32_t span)
{
    struct qr_cascade_seq *all = plan->cascade_seqs;
    uint32_t *link = &head;
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        const uint32_t before = all[i].before.leader, now = all[i].now.leader;
        if (before == now)
            continue;
        if (before != NONE)
            all[before].changed = span;
        if (now != NONE)
            all[now].changed = span;
    }
    for (uint32_t i = head; i != NONE; i = all[i].next)
        if (all[i].before.leader == i && all[i].changed == span)
            add_list(plan, g, i, span);
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        if (all[i].now.leader == i && all[i].changed == span)
            all[i].since = span;
        all[i].before = all[i].now;
        if (span < all[i].end)
            link = &all[i].next;
        else
            *link = all[i].next;
    }
    return head;
}

/* Whether some block holds the beginning of two spans. If none does, no span is shared. */
static bool any_shared(struct quire_plan *plan, const struct qr_plan_group *g, uint32_t head)
{
    const struct qr_cascade_seq *all = plan->cascade_seqs;
    const uint32_t size = plan->kv->block_size, step = SPAN / size, rest = SPAN % size,
                   generation = qr_plan_new_generation(plan);
    uint32_t *const marks = plan->marks;
    for (uint32_t i = head; i != NONE; i = all[i].next) {
        const struct qr_plan_table *t = &g->tables[i];
        const int32_t *ids = g->blocks + t->at + (all[i].begin * SPAN / size - t->first);
        uint32_t slot = all[i].begin * SPAN % size; /* of the span's first key in its block */
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

void qr_cascade_find(struct quire_plan *plan, struct qr_plan_group *g)
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
            sort_in(plan, g, i, span);
        head = turn(plan, g, head, span);
    }
}
