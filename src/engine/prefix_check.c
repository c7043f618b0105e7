/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_check.c - invariants of the prefix index, for tests. */
#include "engine/prefix_check.h"

#define REQUIRE(condition, text)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return text;                                                                           \
    } while (0)

/* Checks the links of a list and its order. */
static const char *check_list(const struct qr_prefix_index *x, const struct qr_prefix_list *list,
                              uint32_t kind, bool sorted, uint32_t *n)
{
    qr_prefix_node older = QR_PREFIX_NONE, node = list->oldest;
    for (*n = 0; node != QR_PREFIX_NONE; (*n)++) {
        REQUIRE(*n < x->n_nodes, "a list has a cycle");
        REQUIRE(node < x->n_slots && x->entries[node].n_tokens, "a free slot is in a list");
        REQUIRE(qr_prefix_link(x, kind, node)->older == older, "a list's backward link is wrong");
        REQUIRE(!sorted || older == QR_PREFIX_NONE ||
                    x->entries[older].last_use < x->entries[node].last_use,
                "a list is not in order of last use");
        older = node;
        node = qr_prefix_link(x, kind, node)->newer;
    }
    REQUIRE(list->newest == older, "a list's newest node is wrong");
    return NULL;
}

static bool list_has(const struct qr_prefix_index *x, const struct qr_prefix_list *list,
                     uint32_t kind, qr_prefix_node wanted)
{
    qr_prefix_node node = list->oldest;
    while (node != QR_PREFIX_NONE && node != wanted)
        node = qr_prefix_link(x, kind, node)->newer;
    return node == wanted;
}

static const char *check_children(const struct qr_prefix_index *x, qr_prefix_node node)
{
    const struct qr_prefix_entry *e = &x->entries[node];
    uint32_t n_held = 0, n_children = 0, reach = 0;
    qr_prefix_node before = QR_PREFIX_NONE;
    for (qr_prefix_node c = e->first_child; c != QR_PREFIX_NONE; c = x->entries[c].next_sibling) {
        const struct qr_prefix_entry *child = &x->entries[c];
        REQUIRE(n_children++ < x->n_nodes, "siblings have a cycle");
        REQUIRE(child->n_tokens && child->parent == node, "a child has another parent");
        REQUIRE(child->previous_sibling == before, "a sibling's backward link is wrong");
        REQUIRE(child->depth == e->depth + 1 && child->salt == e->salt &&
                    child->variant == e->variant,
                "a child differs from its parent");
        n_held += (x->state[c] & QR_PREFIX_HELD) != 0;
        reach = child->n_tokens + child->reach;
        before = c;
    }
    REQUIRE(n_children == 0 || e->n_tokens == x->block_size, "a partial node has a child");
    REQUIRE(n_held == e->n_held_children, "the number of held children is wrong");
    if (n_children != 1)
        reach = 0;
    REQUIRE(e->reach == (reach < x->max_reach ? reach : x->max_reach), "reach is wrong");
    return NULL;
}

static const char *check_node(struct qr_prefix_index *x, qr_prefix_node node)
{
    const struct qr_prefix_entry *e = &x->entries[node];
    const bool pinned = e->pins > 0, held = pinned || e->n_held_children > 0;
    struct qr_prefix_hash hash;
    REQUIRE(x->state[node] == (pinned ? QR_PREFIX_PINNED : 0) + (held ? QR_PREFIX_HELD : 0),
            "the state of a node is wrong");
    REQUIRE(held != list_has(x, &x->unheld, qr_prefix_unheld_kind(x), node),
            "unheld lists a held node, or not one that is not held");
    REQUIRE(e->last_use <= x->clock, "the clock is behind a node");
    if (e->parent == QR_PREFIX_NONE) {
        REQUIRE(list_has(x, &x->roots, qr_prefix_roots_kind(x), node), "a root is not listed");
        REQUIRE(e->depth == 0, "a root has a depth");
    } else {
        const struct qr_prefix_entry *parent = &x->entries[e->parent];
        REQUIRE((x->state[e->parent] & QR_PREFIX_HELD) || parent->last_use > e->last_use,
                "a parent is older than its child");
    }
    qr_prefix_node sibling = qr_prefix_first_child(x, e->parent, e->salt, e->variant);
    while (sibling != QR_PREFIX_NONE && sibling != node)
        sibling = qr_prefix_next_child(x, sibling);
    REQUIRE(sibling == node, "a node is not among its parent's children");
    REQUIRE(e->n_tokens < x->block_size ||
                qr_prefix_find_full(x, e->parent, e->salt, e->variant, qr_prefix_tokens(x, node),
                                    &hash) == node,
            "a full node is not found");
    for (uint32_t g = 0; g < x->n_groups; g++) {
        const bool in = qr_prefix_in_reach(x, node, g), listed = qr_prefix_listed(x, node, g);
        const int32_t block = qr_prefix_blocks(x, node)[g];
        REQUIRE(block == -1 || quire_kv_ref_count(x->kv, g, block) > 0, "a block is free");
        REQUIRE(list_has(x, &x->in_reach[g], g, node) == (listed && in) &&
                    list_has(x, &x->out_of_reach[g], g, node) == (listed && !in),
                "a node is in the wrong list of a group");
    }
    return check_children(x, node);
}

const char *qr_prefix_index_check(struct qr_prefix_index *x)
{
    uint32_t n_nodes = 0, n_free = 0, n, n_unheld = 0;
    const char *wrong = check_list(x, &x->unheld, qr_prefix_unheld_kind(x), true, &n_unheld);
    if (!wrong)
        wrong = check_list(x, &x->roots, qr_prefix_roots_kind(x), false, &n);
    for (uint32_t g = 0; g < x->n_groups && !wrong; g++) {
        wrong = check_list(x, &x->in_reach[g], g, true, &n);
        if (!wrong)
            wrong = check_list(x, &x->out_of_reach[g], g, true, &n);
    }
    for (uint32_t i = 0; i < x->n_slots && !wrong; i++)
        if (x->entries[i].n_tokens) {
            wrong = check_node(x, i);
            n_nodes++;
        }
    if (wrong)
        return wrong;
    for (qr_prefix_node i = x->free_slot; i != QR_PREFIX_NONE; i = x->entries[i].next_in_bucket)
        REQUIRE(n_free++ < x->n_slots && x->entries[i].n_tokens == 0, "a free slot is in use");
    REQUIRE(n_nodes == x->n_nodes && n_nodes + n_free == x->n_slots && x->n_slots <= x->max_nodes,
            "the number of nodes is wrong");
    return NULL;
}
