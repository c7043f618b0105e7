/* SPDX-License-Identifier: Apache-2.0 */
/* state_memory.h - recurrent states of running sequences, and checkpoints of states in the prefix
 * cache.
 *
 * A running sequence of a model with recurrent layers owns one slot of the state pool. The state
 * after the tokens of a node of the prefix index can be kept in another slot, a checkpoint: only at
 * a node with a checkpoint can a later sequence continue, because a state cannot be shortened. The
 * pool has more slots than sequences. The others hold checkpoints; the one whose node was used the
 * longest ago gives way, so opening a sequence never fails. */
#ifndef QR_ENGINE_STATE_MEMORY_H
#define QR_ENGINE_STATE_MEMORY_H
#include "engine/prefix_index.h"
#include <quire/state_pool.h>

#define QR_STATE_NONE (-1)

struct qr_state_memory {
    const struct quire_allocator *allocator;
    struct quire_state_pool *pool; /* borrowed; NULL: the model has no recurrent layers */
    struct qr_prefix_index *index; /* borrowed; NULL: there are no checkpoints */
    uint32_t n_slots, max_nodes;
    uint64_t state_bytes;  /* of one state */
    qr_prefix_node *owner; /* [n_slots] node of the checkpoint in a slot, else QR_PREFIX_NONE */
    int32_t *checkpoint;   /* [max_nodes] slot of a node's checkpoint, else QR_STATE_NONE */
    uint64_t n_taken;      /* sequences that began at a checkpoint */
};

/* pool NULL: all other calls do nothing then. Sets the index's hook for removed nodes. On failure
 * there is nothing to free. QUIRE_E_NOMEM. */
quire_status qr_state_memory_init(struct qr_state_memory *m, struct quire_state_pool *pool,
                                  struct qr_prefix_index *index,
                                  const struct quire_allocator *allocator, struct quire_error *err);
void qr_state_memory_free(struct qr_state_memory *m); /* safe on zeroes */

/* Bytes that qr_state_memory_init() allocates. */
uint64_t qr_state_memory_bytes(uint32_t n_slots, uint32_t max_nodes);

/* Slot of a sequence that begins, with the state before its first token. QR_STATE_NONE without a
 * pool, or if every slot belongs to a running sequence. */
int32_t qr_state_open(struct qr_state_memory *m);
void qr_state_close(struct qr_state_memory *m, int32_t slot);

/* Slot that is free, for a checkpoint; QR_STATE_NONE: no slot is, and no checkpoint gives way. */
int32_t qr_state_open_free(struct qr_state_memory *m);

/* The state in a slot: state_bytes bytes, the same layout at every ISA level. */
void *qr_state_data(const struct qr_state_memory *m, int32_t slot);

/* Copies the state of a sequence to that of another one. */
void qr_state_fork(struct qr_state_memory *m, int32_t to, int32_t from);

/* Whether a sequence can continue after the tokens of a node. True without a pool. */
bool qr_state_has(const struct qr_state_memory *m, qr_prefix_node node);

/* Copies the checkpoint of a node to the slot of a sequence. */
void qr_state_take(struct qr_state_memory *m, int32_t slot, qr_prefix_node node);

/* Keeps a copy of a sequence's state as checkpoint of the node that ends with the same token, if
 * the node has none. Without a free slot the checkpoint that was used the longest ago goes. */
void qr_state_checkpoint(struct qr_state_memory *m, int32_t slot, qr_prefix_node node);

/* Ends a sequence: its slot becomes the checkpoint of the node, or is freed if that has one. */
void qr_state_keep(struct qr_state_memory *m, int32_t slot, qr_prefix_node node);

#endif
