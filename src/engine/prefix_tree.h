/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_tree.h - nodes of the prefix index, with their links, lists and reach. */
#ifndef QR_ENGINE_PREFIX_TREE_H
#define QR_ENGINE_PREFIX_TREE_H
#include "engine/prefix_hash.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

struct qr_embedding_table;

typedef uint32_t qr_prefix_node; /* number of a node, valid until the node is removed */
#define QR_PREFIX_NONE UINT32_MAX

/* Doubly linked list in ascending order of last use. The links of all lists are in
 * qr_prefix_index.links; a node is in at most one list per kind of link. */
struct qr_prefix_list {
    qr_prefix_node oldest, newest;
};
struct qr_prefix_link {
    qr_prefix_node older, newer;
};

enum {
    QR_PREFIX_PINNED = 1, /* the node itself */
    QR_PREFIX_HELD = 2,   /* the node or a descendant is pinned */
};

struct qr_prefix_entry {
    struct qr_prefix_hash hash; /* of full nodes */
    uint64_t salt, last_use;
    uint64_t variant;
    uint32_t depth;    /* index of its block in the sequence: number of ancestors */
    uint32_t n_tokens; /* 1 .. block_size; 0 = the slot is free */
    uint32_t pins;
    uint32_t n_held_children;
    uint32_t reach; /* tokens from this node to the nearest end, see qr_prefix_in_reach */
    qr_prefix_node parent, first_child;
    qr_prefix_node next_sibling, previous_sibling; /* without parent: in root_buckets */
    qr_prefix_node next_in_bucket;                 /* full nodes; free slots: next free slot */
};

struct qr_prefix_index {
    const struct quire_allocator *allocator;
    size_t bytes;              /* of the allocation that holds everything */
    struct quire_kv_cache *kv; /* borrowed; NULL: no groups */
    uint32_t block_size, n_groups, max_nodes, hash_bits;
    uint32_t n_nodes;
    uint32_t n_slots; /* slots used so far; later ones are uninitialized */
    qr_prefix_node free_slot;
    uint64_t clock;               /* last_use of the node used last */
    uint64_t n_insertions;        /* calls */
    uint32_t max_reach;           /* larger distances are not told apart */
    uint32_t bucket_mask;         /* number of buckets - 1, of both tables */
    struct qr_prefix_list unheld; /* candidates of removal: children are older than their parent */
    struct qr_prefix_list roots;  /* nodes without parent, in order of insertion */
    struct qr_prefix_list *in_reach, *out_of_reach; /* [n_groups]; see qr_prefix_in_reach */
    uint32_t *windows;                              /* [n_groups] tokens; 0 = full attention */
    struct qr_prefix_entry *entries;                /* [max_nodes] */
    struct qr_prefix_link *links;                   /* [max_nodes][n_groups + 2] */
    uint8_t *state;                                 /* [max_nodes] QR_PREFIX_PINNED, _HELD */
    int32_t *tokens;                                /* [max_nodes][block_size] */
    int32_t *blocks;                                /* [max_nodes][n_groups] ids or -1 */
    qr_prefix_node *buckets;                        /* full nodes by hash */
    qr_prefix_node *root_buckets;                   /* roots, by salt and variant */
    uint32_t *run_start;                            /* [n_groups] scratch of match */
    unsigned char *hash_input;                      /* scratch of the hash */
    unsigned char secret[QR_PREFIX_SECRET_BYTES];
    struct qr_embedding_table *embeddings; /* nodes hold references to its rows; NULL = none */
    /* called before a node is removed, but not by destroy; NULL = nobody */
    void (*removed)(void *user, qr_prefix_node node);
    void *removed_user;
};

static inline int32_t *qr_prefix_tokens(const struct qr_prefix_index *x, qr_prefix_node node)
{
    return x->tokens + (size_t)node * x->block_size;
}

static inline int32_t *qr_prefix_blocks(const struct qr_prefix_index *x, qr_prefix_node node)
{
    return x->blocks + (size_t)node * x->n_groups;
}

/* Whether a hit at an end can use the node's block of a windowed group. Ends are leaves and nodes
 * with several children: there sequences ended or parted. A query at the end attends to the last
 * window - 1 tokens before it. */
static inline bool qr_prefix_in_reach(const struct qr_prefix_index *x, qr_prefix_node node,
                                      uint32_t group)
{
    return x->entries[node].reach + 1 < x->windows[group];
}

/* Whether the node is in a list of a windowed group: its block may be released on its own. */
static inline bool qr_prefix_listed(const struct qr_prefix_index *x, qr_prefix_node node,
                                    uint32_t group)
{
    return x->windows[group] && qr_prefix_blocks(x, node)[group] >= 0 &&
           !(x->state[node] & QR_PREFIX_PINNED);
}

/* Kinds of links: one per group, for in_reach and out_of_reach, then those of unheld and roots. */
static inline uint32_t qr_prefix_unheld_kind(const struct qr_prefix_index *x)
{
    return x->n_groups;
}
static inline uint32_t qr_prefix_roots_kind(const struct qr_prefix_index *x)
{
    return x->n_groups + 1;
}

static inline struct qr_prefix_link *qr_prefix_link(const struct qr_prefix_index *x, uint32_t kind,
                                                    qr_prefix_node node)
{
    return &x->links[(size_t)node * (x->n_groups + 2) + kind];
}

/* Bytes of the scratch for the hash of a node. */
size_t qr_prefix_hash_input_bytes(uint32_t block_size);

/* Full node with these tokens below parent, or below the root (salt, variant) if parent is
 * QR_PREFIX_NONE. *hash is set to the hash of such a node. */
qr_prefix_node qr_prefix_find_full(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                                   uint64_t variant, const int32_t *tokens,
                                   struct qr_prefix_hash *hash);

/* Children of a node or, for QR_PREFIX_NONE, of the root (salt, variant), the newest first. */
qr_prefix_node qr_prefix_first_child(const struct qr_prefix_index *x, qr_prefix_node parent,
                                     uint64_t salt, uint64_t variant);
qr_prefix_node qr_prefix_next_child(const struct qr_prefix_index *x, qr_prefix_node child);

/* Links a new, unpinned leaf as the node used last; the caller then calls qr_prefix_use on its
 * parent. A slot must be free. References to blocks[n_groups] pass to the node. */
qr_prefix_node qr_prefix_add(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                             uint64_t variant, const int32_t *tokens, uint32_t n_tokens,
                             const int32_t *blocks, struct qr_prefix_hash hash);
/* Unlinks a leaf that is not held. The blocks keep their references. */
void qr_prefix_unlink(struct qr_prefix_index *x, qr_prefix_node node);

/* Drops the node's reference to its block of a group, if it has one, and forgets the block. */
void qr_prefix_release(struct qr_prefix_index *x, qr_prefix_node node, uint32_t group);
/* Stores a block, whose reference passes to the node. The node had none in this group, and the
 * caller then calls qr_prefix_use. */
void qr_prefix_set_block(struct qr_prefix_index *x, qr_prefix_node node, uint32_t group,
                         int32_t block);

/* Marks a node as the one used last, and after it all ancestors that are not held, so that children
 * stay older than their parents in x->unheld. */
void qr_prefix_use(struct qr_prefix_index *x, qr_prefix_node node);
/* Marks the node alone. */
void qr_prefix_use_one(struct qr_prefix_index *x, qr_prefix_node node);

/* Adds the node to the lists of windowed groups, or removes it: when its pin count becomes 0, or
 * stops being 0. Added nodes must be used next. */
void qr_prefix_list_blocks(struct qr_prefix_index *x, qr_prefix_node node);
void qr_prefix_unlist_blocks(struct qr_prefix_index *x, qr_prefix_node node);
/* The same for the list of nodes that are not held. */
void qr_prefix_list_unheld(struct qr_prefix_index *x, qr_prefix_node node);
void qr_prefix_unlist_unheld(struct qr_prefix_index *x, qr_prefix_node node);

#endif
