/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_memory.h - the memory of all running sequences: their blocks in every KV group, and the
 * prefix cache that keeps the blocks of earlier ones. In models with recurrent layers each sequence
 * also has a state of fixed size, and a cached prefix can be used up to a checkpoint of the state
 * (state_memory.h).
 *
 * The scheduler and the requests know only this interface. */
#ifndef QR_ENGINE_SEQUENCE_MEMORY_H
#define QR_ENGINE_SEQUENCE_MEMORY_H
#include "engine/state_memory.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

/* The sequence holds one reference to each of blocks first_block .. end_block - 1; earlier ones
 * fell out of the window. Entry i of block_table is block i of the sequence. */
struct qr_sequence_group {
    uint32_t first_block, end_block;
    int32_t *block_table; /* [max_blocks] */
};

struct qr_sequence {
    bool open;
    bool indexable;      /* full blocks are added to the prefix index */
    uint64_t salt;       /* sequences of different salts share no blocks */
    uint64_t variant;    /* of the keys in the index: RoPE and adapter (scheduler_rope.h) */
    uint32_t n_tokens;   /* tokens whose keys and values are in the KV cache */
    uint32_t n_indexed;  /* leading tokens on the path of `node`, whole blocks */
    qr_prefix_node node; /* pinned; QR_PREFIX_NONE = root */
    int32_t state_slot;  /* state after n_tokens tokens; QR_STATE_NONE without */
    /* of a step that verifies a draft: slot of the state before it, after n_snapshot_tokens tokens,
     * and the tokens of the state that the step leaves; QR_STATE_NONE otherwise */
    int32_t snapshot_slot;
    uint32_t n_snapshot_tokens, n_draft_end;
    uint32_t n_source;                /* tokens whose keys and values are in the cross group */
    bool source_ready;                /* they are computed */
    struct qr_sequence_group *groups; /* [n_groups] */
};

struct qr_sequence_memory {
    const struct quire_allocator *allocator;
    struct quire_kv_cache *kv;     /* borrowed; NULL: sequences have no blocks */
    struct qr_prefix_index *index; /* NULL without kv and states, and with a cross group */
    struct qr_state_memory states;
    uint32_t block_size, n_groups, max_tokens, max_blocks, n_sequences;
    uint32_t *windows;             /* [n_groups] tokens; 0 = full attention */
    int32_t *block_ids;            /* [n_groups] scratch: the blocks of one node */
    struct qr_sequence *sequences; /* [n_sequences] */
    uint64_t n_releases;           /* of blocks by sequences */
    /* encoder-decoders: KV group whose blocks hold the source of a sequence, whatever its length */
    bool has_cross_group;
    uint32_t cross_group;
};

/* Tokens and identity of a sequence that begins. */
struct qr_sequence_prefix {
    const int32_t *tokens;
    uint32_t n_reusable; /* leading tokens that the prefix cache may provide */
    uint64_t salt;
    uint64_t variant;
    uint32_t n_source; /* tokens of the source in the cross group */
};

/* Tokens whose keys and values a group holds of a sequence of n_tokens tokens. */
static inline uint32_t qr_sequence_rows(const struct qr_sequence_memory *m,
                                        const struct qr_sequence *s, uint32_t group,
                                        uint32_t n_tokens)
{
    return m->has_cross_group && group == m->cross_group ? s->n_source : n_tokens;
}

/* Opens a sequence and takes the longest cached prefix of its tokens; n_tokens of the sequence is
 * its length. NULL: all sequences are open. Allocates no blocks. */
struct qr_sequence *qr_sequence_begin(struct qr_sequence_memory *m,
                                      const struct qr_sequence_prefix *prefix);

/* Finds the longest cached prefix that a sequence can continue, the one qr_sequence_begin() would
 * take. Requires an index. */
void qr_sequence_find_prefix(const struct qr_sequence_memory *m,
                             const struct qr_sequence_prefix *prefix,
                             struct qr_prefix_match *match);

/* Its length in tokens; 0 without an index. */
uint32_t qr_sequence_cached(const struct qr_sequence_memory *m,
                            const struct qr_sequence_prefix *prefix);

/* At a block boundary: takes whole blocks that another sequence has computed meanwhile, for tokens
 * before position `end`. */
void qr_sequence_extend_from_cache(struct qr_sequence_memory *m, struct qr_sequence *s,
                                   const int32_t *tokens, uint32_t end);

/* Whether the next token is written into a block that others use too, in any group. */
bool qr_sequence_must_copy(const struct qr_sequence_memory *m, const struct qr_sequence *s);

/* Blocks of a group that n more tokens of the sequence need, copies of shared blocks included. */
uint32_t qr_sequence_blocks_missing(const struct qr_sequence_memory *m, const struct qr_sequence *s,
                                    uint32_t group, uint32_t n);

/* Blocks of a group that are free or can be evicted from the prefix cache. */
uint32_t qr_sequence_blocks_available(const struct qr_sequence_memory *m, uint32_t group);

/* Changes whenever a sequence may get memory that it did not get before: blocks were released, or
 * the prefix cache has more. */
uint64_t qr_sequence_memory_epoch(const struct qr_sequence_memory *m);

/* Makes the memory of the next n tokens writable: drops blocks outside the windows, evicts from the
 * prefix cache, copies a shared last block, and allocates.
 * QUIRE_E_AGAIN: the pool is too small for now, and nothing was allocated. */
quire_status qr_sequence_reserve(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t n,
                                 struct quire_error *err);

/* Counts n tokens whose keys and values a step has written to the reserved blocks, and adds full
 * blocks to the prefix index. `tokens` is the whole sequence. */
void qr_sequence_append(struct qr_sequence_memory *m, struct qr_sequence *s, const int32_t *tokens,
                        uint32_t n);

/* Takes a snapshot of the state before a step that computes n tokens, the last of which are a
 * draft. Until qr_sequence_end_draft(), appended tokens are not added to the prefix index. False:
 * no slot is free. True without states. */
bool qr_sequence_begin_draft(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t n);

/* Ends the verification. If the step ran and all its tokens were appended, its state is kept;
 * otherwise the snapshot is, and n_tokens is what it was before the step: accepted tokens have to
 * be computed again, because a state cannot drop the rejected ones. A no-op without a snapshot. */
void qr_sequence_end_draft(struct qr_sequence_memory *m, struct qr_sequence *s,
                           const int32_t *tokens);

/* Keeps the state of a sequence as a checkpoint, if its tokens end with a block. */
void qr_sequence_checkpoint(struct qr_sequence_memory *m, const struct qr_sequence *s);

/* Keys appended from now on have another RoPE variant than those before: they are not indexed. */
void qr_sequence_stop_indexing(struct qr_sequence *s);

/* Opens a sequence that shares all blocks of `parent`. NULL: all sequences are open. */
struct qr_sequence *qr_sequence_fork(struct qr_sequence_memory *m,
                                     const struct qr_sequence *parent);

/* Closes a sequence. keep: its blocks stay in the prefix cache until they are evicted. `tokens` is
 * the whole sequence. */
void qr_sequence_end(struct qr_sequence_memory *m, struct qr_sequence *s, const int32_t *tokens,
                     bool keep);

/* Blocks a group needs so that one sequence of max_tokens can always grow to its end by at most
 * step_tokens at a time. Windowed groups get rollback_tokens on top: a sequence can be truncated by
 * as many without recomputation. */
uint32_t qr_sequence_blocks_needed(uint32_t block_size, uint32_t window, uint32_t max_tokens,
                                   uint32_t step_tokens, uint32_t rollback_tokens);

#endif
