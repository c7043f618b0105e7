/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_index.h - the index of the prefix cache: a tree of cached KV blocks by their tokens. */
#ifndef QR_ENGINE_PREFIX_INDEX_H
#define QR_ENGINE_PREFIX_INDEX_H
#include "engine/prefix_evict.h"

/* Each node stands for the block_size tokens that follow its parent's (full node), or for fewer
 * (partial node, always a leaf). Roots are told apart by a salt, which separates clients, and a
 * variant of the keys (RoPE, adapter). A node lists one block per KV group, -1 where it has none,
 * and holds one reference to each. In models without attention layers there are no groups: nodes
 * have no blocks, and only checkpoints of states (state_memory.h) hang on them. All memory is
 * reserved at creation. Not thread-safe: the caller locks. Lookups compare tokens and parent, so a
 * collision of hashes never returns a wrong block. */
struct qr_prefix_index;

struct qr_prefix_index_params {
    struct quire_kv_cache *kv; /* borrowed, outlives the index; NULL: nodes have no blocks */
    uint32_t block_size;       /* tokens of a full node; with kv its block size, and not read */
    uint32_t max_nodes;        /* 1 .. 2^31 - 1 */
    uint32_t hash_bits;        /* 1 .. 128 = normal; few bits test collisions */
    const uint64_t *key;       /* [2] secret key of the hash; NULL = random */
    const struct quire_allocator *allocator; /* borrowed, outlives the index; NULL = C library */
    struct qr_embedding_table *embeddings;   /* of negative tokens; borrowed; NULL = none */
};

/* Creates an empty index with a single allocation. *out is NULL on failure.
 * QUIRE_E_INVALID_ARG a parameter out of range, QUIRE_E_LIMIT, QUIRE_E_NOMEM. */
quire_status qr_prefix_index_create(const struct qr_prefix_index_params *params,
                                    struct qr_prefix_index **out, struct quire_error *err);
/* Drops all references, pinned or not. NULL is a no-op. */
void qr_prefix_index_destroy(struct qr_prefix_index *x);
/* Bytes that qr_prefix_index_create allocates; UINT64_MAX beyond the address space. */
uint64_t qr_prefix_index_bytes(uint32_t block_size, uint32_t n_groups, uint32_t max_nodes);

/* Full node that follows parent (QR_PREFIX_NONE: the root of salt and variant) with exactly these
 * block_size tokens, or QR_PREFIX_NONE. Below a parent, salt and variant are the parent's. */
qr_prefix_node qr_prefix_index_find(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                                    uint64_t variant, const int32_t *tokens);

struct qr_prefix_match {
    uint32_t n_tokens;
    /* Node in which the prefix ends: full if n_tokens is a multiple of block_size, else full or
     * partial and perhaps used in part. QR_PREFIX_NONE if n_tokens is 0. */
    qr_prefix_node node;
    /* Last node that is full and used whole: `node`, or its parent. The sequence adds its next
     * node below it. */
    qr_prefix_node parent_of_partial;
};

/* Computes the longest reusable prefix of tokens[0 .. n). It follows full nodes, then the child
 * whose tokens agree longest, at least by one token. Of these lengths the longest is returned for
 * which every group has the blocks that a query after the prefix attends to, as in
 * quire_kv_prefix_hit. Takes no references and does not count as use. The scan of the children
 * reads them all: about 10 ns per child. */
void qr_prefix_index_match(struct qr_prefix_index *x, uint64_t salt, uint64_t variant,
                           const int32_t *tokens, uint32_t n, struct qr_prefix_match *out);

/* Stores the first n_blocks block ids of the path to `node` in one group: entry i is block i of the
 * sequence, -1 = released, or beyond the node. */
void qr_prefix_index_path(const struct qr_prefix_index *x, qr_prefix_node node, uint32_t group,
                          int32_t *blocks, uint32_t n_blocks);

/* Adds a node of n_tokens (1 .. block_size) tokens below a full parent or the root (salt, variant),
 * adds a reference to each of blocks[n_groups] that is not -1, and marks the path as used. An equal
 * node is returned instead (*inserted = false), and its missing blocks are filled in from blocks[];
 * so is, for fewer tokens than block_size, a child that begins with them. Partial siblings that are
 * prefixes of the new node are removed unless pinned. In a full index the least recently used leaf
 * is evicted. QR_PREFIX_NONE: every leaf but the parent is pinned, or the parent is partial,
 * n_tokens out of range, a block free or outside the pool. */
qr_prefix_node qr_prefix_index_insert(struct qr_prefix_index *x, qr_prefix_node parent,
                                      uint64_t salt, uint64_t variant, const int32_t *tokens,
                                      uint32_t n_tokens, const int32_t *blocks, bool *inserted);

/* Removes a partial node that is not pinned, and passes its references to the caller, who goes on
 * writing into blocks[n_groups]; a block with further references must be copied first
 * (quire_kv_make_writable). false, and nothing changes, if the node is full or pinned. */
bool qr_prefix_index_take(struct qr_prefix_index *x, qr_prefix_node node, int32_t *blocks);

/* Removes all nodes of one salt, NULL = of every salt, that are not held. */
void qr_prefix_index_clear(struct qr_prefix_index *x, const uint64_t *salt);

uint32_t qr_prefix_index_node_count(const struct qr_prefix_index *x);

/* A node as seen from outside. Pointers are valid until the index changes. */
struct qr_prefix_node_info {
    qr_prefix_node parent; /* QR_PREFIX_NONE below a root */
    uint64_t salt;
    uint64_t variant;
    uint32_t depth; /* index of its block in the sequence */
    uint32_t n_tokens;
    uint32_t pins;         /* its own */
    const int32_t *tokens; /* [n_tokens] */
    const int32_t *blocks; /* [n_groups] */
    uint64_t last_use;     /* logical clock: larger is later */
};
void qr_prefix_index_get(const struct qr_prefix_index *x, qr_prefix_node node,
                         struct qr_prefix_node_info *out);

/* Iterate over all nodes, parents before their children, in an order that depends on the calls made
 * so far and not on the key. QR_PREFIX_NONE = no more. The index must not change meanwhile. */
qr_prefix_node qr_prefix_index_first(const struct qr_prefix_index *x);
qr_prefix_node qr_prefix_index_next(const struct qr_prefix_index *x, qr_prefix_node node);

#endif
