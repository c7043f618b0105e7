/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_setup.h - creation of the memory of running sequences. */
#ifndef QR_ENGINE_SEQUENCE_SETUP_H
#define QR_ENGINE_SEQUENCE_SETUP_H
#include "engine/sequence_memory.h"

struct qr_sequence_memory_params {
    /* NULL for models without attention layers, and for encoders, whose sequences are open for one
     * step each and are not cached */
    struct quire_kv_cache *kv;
    struct quire_state_pool *states; /* borrowed; more slots than sequences; NULL = none */
    uint32_t block_size;             /* of the prefix index without kv */
    uint64_t cache_tokens;           /* that the prefix index has nodes for without kv */
    bool has_cross_group;            /* of an encoder-decoder; there is no prefix index then */
    uint32_t cross_group;
    uint32_t n_sequences; /* that are open at a time */
    uint32_t max_tokens;  /* of one sequence */
    uint32_t hash_bits;   /* of the prefix index */
    const struct quire_allocator *allocator;
    struct qr_embedding_table *embeddings; /* of the prefix index */
};

/* Reserves all memory that sequences use. On failure there is nothing to free. */
quire_status qr_sequence_memory_init(struct qr_sequence_memory *m,
                                     const struct qr_sequence_memory_params *params,
                                     struct quire_error *err);
/* Frees open sequences and the prefix cache too; safe on zeroes. */
void qr_sequence_memory_free(struct qr_sequence_memory *m);

/* Bytes that qr_sequence_memory_init() allocates. */
uint64_t qr_sequence_memory_bytes(const struct qr_sequence_memory_params *params);

#endif
