/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_evict.c - pins, order of use and eviction of the prefix index. */
#include "engine/prefix_evict.h"
#include "kv/types.h"

void qr_prefix_index_pin(struct qr_prefix_index *x, qr_prefix_node node)
{
    if (node == QR_PREFIX_NONE || x->entries[node].pins++ > 0)
        return;
    qr_prefix_unlist_blocks(x, node);
    x->state[node] |= QR_PREFIX_PINNED;
    while (node != QR_PREFIX_NONE && !(x->state[node] & QR_PREFIX_HELD)) {
        qr_prefix_unlist_unheld(x, node);
        x->state[node] |= QR_PREFIX_HELD;
        node = x->entries[node].parent;
        if (node != QR_PREFIX_NONE)
            x->entries[node].n_held_children++;
    }
}

void qr_prefix_index_unpin(struct qr_prefix_index *x, qr_prefix_node node)
{
    if (node == QR_PREFIX_NONE || x->entries[node].pins == 0 || --x->entries[node].pins > 0)
        return;
    x->state[node] &= (uint8_t)~QR_PREFIX_PINNED;
    qr_prefix_list_blocks(x, node);
    qr_prefix_use_one(x, node);
    while (node != QR_PREFIX_NONE && x->entries[node].pins == 0 &&
           x->entries[node].n_held_children == 0) {
        x->state[node] &= (uint8_t)~QR_PREFIX_HELD;
        qr_prefix_list_unheld(x, node);
        qr_prefix_use_one(x, node);
        node = x->entries[node].parent;
        if (node != QR_PREFIX_NONE)
            x->entries[node].n_held_children--;
    }
}

void qr_prefix_index_touch(struct qr_prefix_index *x, qr_prefix_node node)
{
    for (; node != QR_PREFIX_NONE; node = x->entries[node].parent)
        qr_prefix_use_one(x, node);
}

/* Counts the evictable blocks of the group, up to a limit. */
static uint32_t count_evictable(const struct qr_prefix_index *x, uint32_t group, uint32_t limit)
{
    const uint32_t *ref_counts = x->kv->groups[group].ref_counts;
    const uint32_t kept = x->windows[group] ? QR_PREFIX_PINNED : QR_PREFIX_HELD;
    const int32_t *block = x->blocks + group;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_slots && n < limit; i++, block += x->n_groups)
        n += *block >= 0 && !(x->state[i] & kept) && ref_counts[*block] == 1;
    return n;
}

uint32_t qr_prefix_index_evictable(const struct qr_prefix_index *x, uint32_t group)
{
    return count_evictable(x, group, UINT32_MAX);
}

void qr_prefix_remove(struct qr_prefix_index *x, qr_prefix_node node)
{
    for (uint32_t g = 0; g < x->n_groups; g++)
        qr_prefix_release(x, node, g);
    qr_prefix_unlink(x, node);
}

/* Whether releasing the node's block of the group returns it to the pool. */
static bool frees(const struct qr_prefix_index *x, qr_prefix_node node, uint32_t group)
{
    return quire_kv_ref_count(x->kv, group, qr_prefix_blocks(x, node)[group]) == 1;
}

/* The ancestor whose block goes before that of `node`, or the node itself: in the same list, on the
 * path without branches that leads to it, as near to the root as possible. What stays is the end of
 * the path, so that shorter prefixes remain hits. */
static qr_prefix_node evict_first(const struct qr_prefix_index *x, qr_prefix_node node,
                                  uint32_t group)
{
    const bool in_reach = qr_prefix_in_reach(x, node, group);
    qr_prefix_node first = node;
    for (qr_prefix_node p = x->entries[node].parent;
         p != QR_PREFIX_NONE &&
         x->entries[x->entries[p].first_child].next_sibling == QR_PREFIX_NONE;
         p = x->entries[p].parent)
        if (qr_prefix_listed(x, p, group) && qr_prefix_in_reach(x, p, group) == in_reach &&
            frees(x, p, group))
            first = p;
    return first;
}

static uint32_t evict_from(struct qr_prefix_index *x, const struct qr_prefix_list *list,
                           uint32_t group, uint32_t n)
{
    uint32_t freed = 0;
    for (qr_prefix_node node = list->oldest; node != QR_PREFIX_NONE && freed < n;) {
        const qr_prefix_node next = qr_prefix_link(x, group, node)->newer;
        const bool useful = frees(x, node, group);
        const qr_prefix_node first = useful ? evict_first(x, node, group) : node;
        if (useful)
            qr_prefix_release(x, first, group);
        freed += useful;
        if (first == node)
            node = next;
    }
    return freed;
}

uint32_t qr_prefix_index_evict(struct qr_prefix_index *x, uint32_t group, uint32_t n)
{
    uint32_t freed = 0;
    if (x->windows[group]) {
        freed = evict_from(x, &x->out_of_reach[group], group, n);
        return freed + evict_from(x, &x->in_reach[group], group, n - freed);
    }
    /* Not beyond what can be freed: the removal of more leaves would be for nothing. */
    const uint32_t want = count_evictable(x, group, n);
    while (freed < want && x->unheld.oldest != QR_PREFIX_NONE) {
        const qr_prefix_node leaf = x->unheld.oldest;
        freed += frees(x, leaf, group);
        qr_prefix_remove(x, leaf);
    }
    return freed;
}
