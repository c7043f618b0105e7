/* SPDX-License-Identifier: Apache-2.0 */
/* cache_plan.h - which rows of a cache file go into which blocks of the pool. */
#ifndef QR_ENGINE_CACHE_PLAN_H
#define QR_ENGINE_CACHE_PLAN_H
#include "engine/cache_file.h"

/* Rows of one file node that go into the blocks of one planned node. */
struct qr_cache_piece {
    uint32_t next;       /* piece of the same file node, or QR_CACHE_NO_PIECE */
    qr_prefix_node node; /* in `planned` */
    uint32_t first, n;   /* rows of the file node */
    uint32_t token;      /* place of the first row in the block */
};
#define QR_CACHE_NO_PIECE UINT32_MAX

/* The plan is a prefix index of its own: its nodes hold free blocks of the pool, which become
 * visible to requests only when the nodes are moved to the engine's index. */
struct qr_cache_plan {
    const struct qr_cache_file *file;
    struct quire_engine *engine;
    struct qr_prefix_index *planned; /* NULL: the engine's index is full */
    struct qr_cache_piece *pieces;
    size_t n_pieces, piece_capacity;
    uint32_t *first_piece; /* [file nodes] */
    qr_prefix_node *ends;  /* [file nodes] last nodes of the planned sequences, most recent first */
    uint32_t n_ends;
    uint64_t n_tokens, n_blocks;
    /* with recurrent layers */
    int32_t *slots;              /* [planned nodes] of the state after a node, or QR_STATE_NONE */
    qr_prefix_node *state_nodes; /* [file nodes] planned node that takes the state, or NONE */
    /* scratch */
    uint32_t *path; /* [file nodes] from the root to an end */
    uint32_t n_path;
    int32_t *tokens; /* [max_tokens] of the path */
};

/* Plans the sequences of a file, or those of one salt, most recent first, until the pool or the
 * index is full. The blocks of the pool are cut anew: a block of a windowed group is planned only
 * if the file has all its rows. With recurrent layers a sequence is planned up to its last state,
 * and earlier states where a block ends; states take free slots. Steps are excluded.
 * QUIRE_E_LIMIT nothing fits; QUIRE_E_RANGE the file has nothing of the salt; QUIRE_E_NOMEM. Free
 * the plan in every case. */
quire_status qr_cache_plan_init(struct qr_cache_plan *p, struct quire_engine *e,
                                const struct qr_cache_file *f, const uint64_t *salt,
                                struct quire_error *err);

/* Moves the planned nodes to the engine's index, the most recent ones last. */
void qr_cache_plan_publish(struct qr_cache_plan *p, qr_prefix_node *real);
void qr_cache_plan_free(struct qr_cache_plan *p); /* gives planned blocks back to the pool */

#endif
