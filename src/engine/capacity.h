/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h - context length and KV cache size of an engine, computed before any reservation. */
#ifndef QR_ENGINE_CAPACITY_H
#define QR_ENGINE_CAPACITY_H
#include <quire/engine.h>

struct qr_capacity {
    const struct quire_allocator *allocator;
    struct quire_kv_group_config *groups; /* [n_groups], n_blocks filled in */
    uint32_t n_groups, block_size;
    uint32_t context_length, model_context_length, max_step_tokens; /* tokens */
    uint32_t max_seqs;
    uint64_t cache_tokens;                /* capacity of the KV cache */
    uint64_t kv_bytes, budget, available; /* bytes; available 0 = unknown */
    uint32_t max_source_tokens; /* of one encoder pass of an encoder-decoder; 0: it is none */
    /* of recurrent layers; 0 without */
    uint32_t n_state_slots; /* of sequences, their drafts, and checkpoints */
    uint32_t n_checkpoints;
    uint64_t state_size;  /* bytes of one state */
    uint64_t state_bytes; /* of the pool; included in kv_bytes */
    /* of the draft model; unused where that reads the KV cache of the model */
    bool has_draft_model;
    struct quire_kv_group_config *draft_groups; /* [n_draft_groups] */
    uint32_t n_draft_groups;
    uint32_t draft_context_length; /* longest sequence that it drafts for, in tokens */
    uint32_t draft_model_context_length;
    uint64_t draft_cache_tokens, draft_tokens_requested; /* capacity; that in the parameters */
    uint64_t draft_kv_bytes;                             /* with its states; part of kv_bytes */
    uint32_t n_draft_state_slots;
    uint64_t draft_state_size, draft_state_bytes; /* of one state; of the pool */
};

/* Chooses the context length and the capacity of the cache, or checks those in params. The cache of
 * draft_model, NULL = none, shares the budget.
 * QUIRE_E_LIMIT when they do not fit the budget; the message has the sizes. On failure there is
 * nothing to free. */
quire_status qr_capacity_init(struct qr_capacity *c, const struct quire_model *model,
                              const struct quire_model *draft_model,
                              const struct quire_engine_params *params, struct quire_error *err);
void qr_capacity_free(struct qr_capacity *c);

#endif
