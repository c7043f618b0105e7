/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_check.c - invariants of the prefix index, for tests. */
#include "engine/prefix_check.h"

#define REQUIRE(condition, text)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return text;                                                                           \
    } while (0)

/* Checks the links of a list and counts its nodes. */
static const char *check_links(const struct qr_prefix_index *x, const struct qr_prefix_list *list,
                               uint32_t kind, uint32_t *n)
{
    qr_prefix_node older = QR_PREFIX_NONE, node = list->oldest;
    for (*n = 0; node != QR_PREFIX_NONE; ++*n) {
        REQUIRE(*n < x->n_nodes, "a list has a cycle");
        REQUIRE(node < x->n_slots && x->entries[node].n_tokens, "a free slot is in a list");
        REQUIRE(qr_prefix_link(x, kind, node)->older == older, "a list's backward link is wrong");
        older = node;
        node = qr_prefix_link(x, kind, node)->newer;
    }
    REQUIRE(list->newest == older, "a list's newest node is wrong");
    return NULL;
}

static const char *check_order(const struct qr_prefix_index *x, const struct qr_prefix_list *list,
                               uint32_t kind)
{
    uint64_t before = 0;
    for (qr_prefix_node node = list->oldest; node != QR_PREFIX_NONE;
         node = qr_prefix_link(x, kind, node)->newer) {
        REQUIRE(x->entries[node].last_use > before, "a list is not in order of last use");
        before = x->entries[node].last_use;
    }
    REQUIRE(before <= x->clock, "the clock is behind a node");
    return NULL;
}

/* Checks that a list of a windowed group has exactly the nodes that belong there. */
static const char *check_group_list(const struct qr_prefix_index *x,
                                    const struct qr_prefix_list *list, uint32_t group,
                                    bool in_reach)
{
    uint32_t n, n_expected = 0;
    const char *wrong = check_links(x, list, group, &n);
    if (!wrong)
        wrong = check_order(x, list, group);
    for (qr_prefix_node i = 0; i < x->n_slots && !wrong; i++)
        n_expected += x->entries[i].n_tokens && qr_prefix_listed(x, i, group) &&
                      qr_prefix_in_reach(x, i, group) == in_reach;
    for (qr_prefix_node i = list->oldest; i != QR_PREFIX_NONE && !wrong;
         i = qr_prefix_link(x, group, i)->newer)
        if (!qr_prefix_listed(x, i, group) || qr_prefix_in_reach(x, i, group) != in_reach)
            wrong = "a node is in the wrong list of a group";
    return wrong ? wrong : n != n_expected ? "a list of a group lacks a node" : NULL;
}

static const char *check_unheld(const struct qr_prefix_index *x)
{
    uint32_t n, n_expected = 0;
    const char *wrong = check_links(x, &x->unheld, qr_prefix_unheld_kind(x), &n);
    if (!wrong)
        wrong = check_order(x, &x->unheld, qr_prefix_unheld_kind(x));
    for (qr_prefix_node i = 0; i < x->n_slots && !wrong; i++)
        n_expected += x->entries[i].n_tokens && !(x->state[i] & QR_PREFIX_HELD);
    for (qr_prefix_node i = x->unheld.oldest; i != QR_PREFIX_NONE && !wrong;
         i = qr_prefix_link(x, qr_prefix_unheld_kind(x), i)->newer)
        if (x->state[i] & QR_PREFIX_HELD)
            wrong = "a held node is in the list of the others";
    return wrong ? wrong : n != n_expected ? "the list of unheld nodes lacks a node" : NULL;
}

static const char *check_children(const struct qr_prefix_index *x, qr_prefix_node node,
                                  uint32_t *n_children)
{
    const struct qr_prefix_entry *e = &x->entries[node];
    uint32_t n_held = 0, n = 0;
    uint64_t reach = 0;
    qr_prefix_node before = QR_PREFIX_NONE;
    for (qr_prefix_node c = e->first_child; c != QR_PREFIX_NONE; c = x->entries[c].next_sibling) {
        const struct qr_prefix_entry *child = &x->entries[c];
        REQUIRE(n++ < x->n_nodes, "siblings have a cycle");
        REQUIRE(child->n_tokens && child->parent == node, "a child has another parent");
        REQUIRE(child->previous_sibling == before, "a sibling's backward link is wrong");
        REQUIRE(child->depth == e->depth + 1 && child->salt == e->salt &&
                    child->variant == e->variant,
                "a child differs from its parent");
        REQUIRE((x->state[node] & QR_PREFIX_HELD) || e->last_use > child->last_use,
                "a parent is older than its child");
        n_held += (x->state[c] & QR_PREFIX_HELD) != 0;
        reach = (uint64_t)child->n_tokens + child->reach;
        before = c;
    }
    REQUIRE(n == 0 || e->n_tokens == x->block_size, "a partial node has a child");
    REQUIRE(n_held == e->n_held_children, "the number of held children is wrong");
    if (n != 1)
        reach = 0;
    REQUIRE(e->reach == (reach < x->max_reach ? reach : x->max_reach), "reach is wrong");
    *n_children += n;
    return NULL;
}

static const char *check_node(struct qr_prefix_index *x, qr_prefix_node node)
{
    const struct qr_prefix_entry *e = &x->entries[node];
    const bool held = e->pins > 0 || e->n_held_children > 0;
    struct qr_prefix_hash hash;
    REQUIRE(e->n_tokens <= x->block_size, "a node has too many tokens");
    REQUIRE(x->state[node] == (e->pins ? QR_PREFIX_PINNED : 0) + (held ? QR_PREFIX_HELD : 0),
            "the state of a node is wrong");
    REQUIRE(e->n_tokens < x->block_size ||
                qr_prefix_find_full(x, e->parent, e->salt, e->variant, qr_prefix_tokens(x, node),
                                    &hash) == node,
            "a full node is not found");
    for (uint32_t g = 0; g < x->n_groups; g++) {
        const int32_t block = qr_prefix_blocks(x, node)[g];
        REQUIRE(block == -1 || quire_kv_ref_count(x->kv, g, block) > 0, "a block is free");
    }
    if (e->parent != QR_PREFIX_NONE)
        return NULL; /* check_children of the parent */
    qr_prefix_node sibling = qr_prefix_first_child(x, QR_PREFIX_NONE, e->salt, e->variant);
    while (sibling != QR_PREFIX_NONE && sibling != node)
        sibling = qr_prefix_next_child(x, sibling);
    REQUIRE(sibling == node && e->depth == 0, "a root is not found");
    return NULL;
}

static const char *check_nodes(struct qr_prefix_index *x)
{
    uint32_t n_nodes = 0, n_linked, n_free = 0;
    const char *wrong = check_links(x, &x->roots, qr_prefix_roots_kind(x), &n_linked);
    for (uint32_t i = 0; i < x->n_slots && !wrong; i++) {
        if (x->entries[i].n_tokens == 0)
            continue;
        n_nodes++;
        wrong = check_node(x, i);
        if (!wrong)
            wrong = check_children(x, i, &n_linked);
    }
    if (wrong)
        return wrong;
    REQUIRE(n_linked == n_nodes, "a node is not among its parent's children");
    for (qr_prefix_node i = x->free_slot; i != QR_PREFIX_NONE; i = x->entries[i].next_in_bucket)
        REQUIRE(n_free++ < x->n_slots && x->entries[i].n_tokens == 0, "a free slot is in use");
    REQUIRE(n_nodes == x->n_nodes && n_nodes + n_free == x->n_slots && x->n_slots <= x->max_nodes,
            "the number of nodes is wrong");
    return NULL;
}

const char *qr_prefix_index_check(struct qr_prefix_index *x)
{
    const char *wrong = check_nodes(x);
    if (!wrong)
        wrong = check_unheld(x);
    for (uint32_t g = 0; g < x->n_groups && !wrong; g++) {
        wrong = check_group_list(x, &x->in_reach[g], g, true);
        if (!wrong)
            wrong = check_group_list(x, &x->out_of_reach[g], g, false);
    }
    return wrong;
}
