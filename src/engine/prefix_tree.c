/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_tree.c - nodes of the prefix index, with their links, lists and reach. */
#include "engine/prefix_tree.h"
#include "engine/embedding_table.h"
#include <string.h>

/* ---- Lists */

/* Inserts the node directly after `older`; QR_PREFIX_NONE = as the oldest. */
static void list_insert(struct qr_prefix_index *x, struct qr_prefix_list *list, uint32_t kind,
                        qr_prefix_node older, qr_prefix_node node)
{
    qr_prefix_node *after =
        older == QR_PREFIX_NONE ? &list->oldest : &qr_prefix_link(x, kind, older)->newer;
    const qr_prefix_node newer = *after;
    *qr_prefix_link(x, kind, node) = (struct qr_prefix_link){ older, newer };
    *after = node;
    *(newer == QR_PREFIX_NONE ? &list->newest : &qr_prefix_link(x, kind, newer)->older) = node;
}

static void list_remove(struct qr_prefix_index *x, struct qr_prefix_list *list, uint32_t kind,
                        qr_prefix_node node)
{
    const struct qr_prefix_link l = *qr_prefix_link(x, kind, node);
    *(l.older == QR_PREFIX_NONE ? &list->oldest : &qr_prefix_link(x, kind, l.older)->newer) =
        l.newer;
    *(l.newer == QR_PREFIX_NONE ? &list->newest : &qr_prefix_link(x, kind, l.newer)->older) =
        l.older;
}

/* Inserts the node by its last use, searching from the end that is probably nearer. */
static void list_insert_sorted(struct qr_prefix_index *x, struct qr_prefix_list *list,
                               uint32_t kind, qr_prefix_node node)
{
    const struct qr_prefix_entry *e = x->entries;
    const uint64_t use = e[node].last_use;
    qr_prefix_node older = list->newest, newer = list->oldest;
    if (older == QR_PREFIX_NONE || 2 * use > e[older].last_use + e[newer].last_use) {
        while (older != QR_PREFIX_NONE && e[older].last_use > use)
            older = qr_prefix_link(x, kind, older)->older;
    } else {
        while (e[newer].last_use < use) /* stops before the newest node, whose last use is later */
            newer = qr_prefix_link(x, kind, newer)->newer;
        older = qr_prefix_link(x, kind, newer)->older;
    }
    list_insert(x, list, kind, older, node);
}

static struct qr_prefix_list *list_of_group(struct qr_prefix_index *x, uint32_t group,
                                            qr_prefix_node node)
{
    return qr_prefix_in_reach(x, node, group) ? &x->in_reach[group] : &x->out_of_reach[group];
}

void qr_prefix_list_blocks(struct qr_prefix_index *x, qr_prefix_node node)
{
    for (uint32_t g = 0; g < x->n_groups; g++)
        if (qr_prefix_listed(x, node, g)) {
            struct qr_prefix_list *list = list_of_group(x, g, node);
            list_insert(x, list, g, list->newest, node);
        }
}

void qr_prefix_unlist_blocks(struct qr_prefix_index *x, qr_prefix_node node)
{
    for (uint32_t g = 0; g < x->n_groups; g++)
        if (qr_prefix_listed(x, node, g))
            list_remove(x, list_of_group(x, g, node), g, node);
}

void qr_prefix_list_unheld(struct qr_prefix_index *x, qr_prefix_node node)
{
    list_insert(x, &x->unheld, qr_prefix_unheld_kind(x), x->unheld.newest, node);
}

void qr_prefix_unlist_unheld(struct qr_prefix_index *x, qr_prefix_node node)
{
    list_remove(x, &x->unheld, qr_prefix_unheld_kind(x), node);
}

void qr_prefix_use_one(struct qr_prefix_index *x, qr_prefix_node node)
{
    x->entries[node].last_use = ++x->clock;
    qr_prefix_unlist_blocks(x, node);
    qr_prefix_list_blocks(x, node);
    if (!(x->state[node] & QR_PREFIX_HELD)) {
        qr_prefix_unlist_unheld(x, node);
        qr_prefix_list_unheld(x, node);
    }
}

void qr_prefix_use(struct qr_prefix_index *x, qr_prefix_node node)
{
    do {
        qr_prefix_use_one(x, node);
        node = x->entries[node].parent;
    } while (node != QR_PREFIX_NONE && !(x->state[node] & QR_PREFIX_HELD));
}

/* ---- Reach */

static uint32_t compute_reach(const struct qr_prefix_index *x, qr_prefix_node node)
{
    const qr_prefix_node child = x->entries[node].first_child;
    if (child == QR_PREFIX_NONE || x->entries[child].next_sibling != QR_PREFIX_NONE)
        return 0;
    const uint64_t reach = (uint64_t)x->entries[child].n_tokens + x->entries[child].reach;
    return reach < x->max_reach ? (uint32_t)reach : x->max_reach;
}

/* Recomputes the reach of a node whose children changed, and that of its ancestors. At most
 * max_reach / block_size + 1 of them change: one with several children is an end itself. */
static void update_reach(struct qr_prefix_index *x, qr_prefix_node node)
{
    for (; node != QR_PREFIX_NONE; node = x->entries[node].parent) {
        const uint32_t reach = compute_reach(x, node), before = x->entries[node].reach;
        if (reach == before)
            return;
        for (uint32_t g = 0; g < x->n_groups; g++) {
            if (!qr_prefix_listed(x, node, g))
                continue;
            x->entries[node].reach = before;
            struct qr_prefix_list *from = list_of_group(x, g, node);
            x->entries[node].reach = reach;
            struct qr_prefix_list *to = list_of_group(x, g, node);
            if (from == to)
                continue;
            list_remove(x, from, g, node);
            list_insert_sorted(x, to, g, node);
        }
        x->entries[node].reach = reach;
    }
}

/* ---- Nodes */

/* What a full node's hash covers. */
struct hash_header {
    struct qr_prefix_hash parent;
    uint64_t salt;
    uint64_t variant;
    uint64_t is_root;
};

size_t qr_prefix_hash_input_bytes(uint32_t block_size)
{
    return sizeof(struct hash_header) + block_size * sizeof(int32_t);
}

static struct qr_prefix_hash hash_node(struct qr_prefix_index *x, qr_prefix_node parent,
                                       uint64_t salt, uint64_t variant, const int32_t *tokens)
{
    struct hash_header header = { .salt = salt, .variant = variant, .is_root = 1 };
    if (parent != QR_PREFIX_NONE) {
        header.is_root = 0;
        header.parent = x->entries[parent].hash;
    }
    const size_t bytes = x->block_size * sizeof *tokens;
    memcpy(x->hash_input, &header, sizeof header);
    memcpy(x->hash_input + sizeof header, tokens, bytes);
    return qr_prefix_hash(x->secret, x->hash_input, sizeof header + bytes, x->hash_bits);
}

static qr_prefix_node *root_bucket(const struct qr_prefix_index *x, uint64_t salt, uint64_t variant)
{
    const uint64_t key[2] = { salt, variant };
    const struct qr_prefix_hash h = qr_prefix_hash(x->secret, key, sizeof key, x->hash_bits);
    return &x->root_buckets[h.low & x->bucket_mask];
}

static bool is_root(const struct qr_prefix_entry *e, uint64_t salt, uint64_t variant)
{
    return e->parent == QR_PREFIX_NONE && e->salt == salt && e->variant == variant;
}

qr_prefix_node qr_prefix_find_full(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                                   uint64_t variant, const int32_t *tokens,
                                   struct qr_prefix_hash *hash)
{
    *hash = hash_node(x, parent, salt, variant, tokens);
    qr_prefix_node node = x->buckets[hash->low & x->bucket_mask];
    for (; node != QR_PREFIX_NONE; node = x->entries[node].next_in_bucket) {
        const struct qr_prefix_entry *e = &x->entries[node];
        if (e->hash.low == hash->low && e->hash.high == hash->high && e->parent == parent &&
            e->salt == salt && e->variant == variant &&
            memcmp(qr_prefix_tokens(x, node), tokens, x->block_size * sizeof *tokens) == 0)
            return node;
    }
    return QR_PREFIX_NONE;
}

/* First of the siblings from `node` on that is a child of the root: other roots may share its
 * bucket. */
static qr_prefix_node skip_roots(const struct qr_prefix_index *x, qr_prefix_node node,
                                 uint64_t salt, uint64_t variant)
{
    while (node != QR_PREFIX_NONE && !is_root(&x->entries[node], salt, variant))
        node = x->entries[node].next_sibling;
    return node;
}

qr_prefix_node qr_prefix_first_child(const struct qr_prefix_index *x, qr_prefix_node parent,
                                     uint64_t salt, uint64_t variant)
{
    if (parent != QR_PREFIX_NONE)
        return x->entries[parent].first_child;
    return skip_roots(x, *root_bucket(x, salt, variant), salt, variant);
}

qr_prefix_node qr_prefix_next_child(const struct qr_prefix_index *x, qr_prefix_node child)
{
    const struct qr_prefix_entry *e = &x->entries[child];
    if (e->parent != QR_PREFIX_NONE)
        return e->next_sibling;
    return skip_roots(x, e->next_sibling, e->salt, e->variant);
}

static qr_prefix_node *first_sibling(struct qr_prefix_index *x, const struct qr_prefix_entry *e)
{
    return e->parent == QR_PREFIX_NONE ? root_bucket(x, e->salt, e->variant)
                                       : &x->entries[e->parent].first_child;
}

static qr_prefix_node take_slot(struct qr_prefix_index *x)
{
    const qr_prefix_node node = x->free_slot;
    if (node == QR_PREFIX_NONE)
        return x->n_slots++;
    x->free_slot = x->entries[node].next_in_bucket;
    return node;
}

qr_prefix_node qr_prefix_add(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                             uint64_t variant, const int32_t *tokens, uint32_t n_tokens,
                             const int32_t *blocks, struct qr_prefix_hash hash)
{
    const qr_prefix_node node = take_slot(x);
    struct qr_prefix_entry *e = &x->entries[node];
    *e = (struct qr_prefix_entry){ .hash = hash,
                                   .salt = salt,
                                   .variant = variant,
                                   .last_use = ++x->clock,
                                   .n_tokens = n_tokens,
                                   .parent = parent,
                                   .first_child = QR_PREFIX_NONE,
                                   .previous_sibling = QR_PREFIX_NONE,
                                   .next_in_bucket = QR_PREFIX_NONE };
    e->depth = parent == QR_PREFIX_NONE ? 0 : x->entries[parent].depth + 1;
    x->state[node] = 0;
    x->n_nodes++;
    memcpy(qr_prefix_tokens(x, node), tokens, n_tokens * sizeof *tokens);
    memcpy(qr_prefix_blocks(x, node), blocks, x->n_groups * sizeof *blocks);
    qr_prefix_node *first = first_sibling(x, e);
    e->next_sibling = *first;
    if (*first != QR_PREFIX_NONE)
        x->entries[*first].previous_sibling = node;
    *first = node;
    if (parent == QR_PREFIX_NONE)
        list_insert(x, &x->roots, qr_prefix_roots_kind(x), x->roots.newest, node);
    if (n_tokens == x->block_size) {
        e->next_in_bucket = x->buckets[hash.low & x->bucket_mask];
        x->buckets[hash.low & x->bucket_mask] = node;
    }
    qr_prefix_list_unheld(x, node);
    qr_prefix_list_blocks(x, node);
    update_reach(x, parent);
    if (x->embeddings)
        qr_embedding_table_retain(x->embeddings, tokens, n_tokens);
    return node;
}

void qr_prefix_unlink(struct qr_prefix_index *x, qr_prefix_node node)
{
    struct qr_prefix_entry *e = &x->entries[node];
    if (x->removed)
        x->removed(x->removed_user, node);
    qr_prefix_unlist_blocks(x, node);
    qr_prefix_unlist_unheld(x, node);
    if (e->parent == QR_PREFIX_NONE)
        list_remove(x, &x->roots, qr_prefix_roots_kind(x), node);
    if (e->n_tokens == x->block_size) {
        qr_prefix_node *at = &x->buckets[e->hash.low & x->bucket_mask];
        while (*at != node)
            at = &x->entries[*at].next_in_bucket;
        *at = e->next_in_bucket;
    }
    if (e->previous_sibling == QR_PREFIX_NONE)
        *first_sibling(x, e) = e->next_sibling;
    else
        x->entries[e->previous_sibling].next_sibling = e->next_sibling;
    if (e->next_sibling != QR_PREFIX_NONE)
        x->entries[e->next_sibling].previous_sibling = e->previous_sibling;
    for (uint32_t g = 0; g < x->n_groups; g++)
        qr_prefix_blocks(x, node)[g] = -1;
    if (x->embeddings)
        qr_embedding_table_release(x->embeddings, qr_prefix_tokens(x, node), e->n_tokens);
    e->n_tokens = 0;
    e->next_in_bucket = x->free_slot;
    x->free_slot = node;
    x->n_nodes--;
    update_reach(x, e->parent);
}

void qr_prefix_release(struct qr_prefix_index *x, qr_prefix_node node, uint32_t group)
{
    int32_t *block = &qr_prefix_blocks(x, node)[group];
    if (*block < 0)
        return;
    if (qr_prefix_listed(x, node, group))
        list_remove(x, list_of_group(x, group, node), group, node);
    (void)!quire_kv_release(x->kv, group, block, 1, NULL); /* cannot fail: the node's reference */
    *block = -1;
}

void qr_prefix_set_block(struct qr_prefix_index *x, qr_prefix_node node, uint32_t group,
                         int32_t block)
{
    qr_prefix_blocks(x, node)[group] = block;
    if (!qr_prefix_listed(x, node, group))
        return;
    struct qr_prefix_list *list = list_of_group(x, group, node);
    list_insert(x, list, group, list->newest, node);
}
