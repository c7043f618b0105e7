/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - operands of the forward pass of one step, in memory reserved at open. */
#ifndef QR_ENGINE_BATCH_H
#define QR_ENGINE_BATCH_H
#include "engine/scheduler.h"
#include <quire/attention.h>

struct qr_batch {
    uint32_t n_groups, max_seqs, max_tokens, max_blocks, max_logits;
    uint32_t n_seqs, n_tokens, n_logits, n_complete;
    bool pools;               /* a task of the step pools hidden states */
    int32_t *query_start_loc; /* [max_seqs + 1] */
    int32_t *seq_lens;        /* [max_seqs] */
    uint32_t *rope_lens;      /* [max_seqs] */
    int32_t *state_slots;     /* [max_seqs] */
    int32_t *source_lens;     /* [max_seqs] tokens in the cross group of an encoder-decoder */
    uint32_t *logits_rows; /* [max_logits] last rows of complete tasks, and those of their drafts */
    struct qr_task **complete;                  /* [max_seqs] tasks of these rows */
    uint32_t *first_logits;                     /* [max_seqs] index of their first row of logits */
    int32_t *token_ids;                         /* [max_tokens] */
    int64_t *slot_mapping;                      /* [n_groups][max_tokens] */
    int32_t *block_tables;                      /* [n_groups][max_seqs][max_blocks] */
    uint32_t *first_blocks;                     /* [n_groups][max_seqs] */
    struct quire_attention_batch_group *groups; /* [n_groups] */
    const float **embedding_rows;          /* [max_tokens] rows in place of token ids, else NULL */
    bool has_embeddings;                   /* one of these is not NULL */
    const struct quire_adapter **adapters; /* [max_seqs] of the step, each once */
    int32_t *adapter_index;                /* [max_seqs] in `adapters`; -1 = none */
    float *adapter_scales;                 /* [max_seqs] */
    uint32_t n_adapters;
    /* [n_tokens][mtp_hidden_size] and [n_tokens][mtp_state_size] for a head of MTP, else NULL */
    const float *previous_hidden, *own_hidden;
    const uint32_t *feature_layers; /* [n_features] for a head of MTP with features, else NULL */
    uint32_t n_features;
    float *features; /* [n_tokens][n_features][hidden size] out */
    uint32_t mtp_head;
};

struct qr_batch_params {
    uint32_t n_groups, max_seqs, max_tokens, max_blocks, max_logits;
    const struct quire_allocator *allocator;
};

/* On failure there is nothing to free. */
quire_status qr_batch_init(struct qr_batch *b, const struct qr_batch_params *params,
                           struct quire_error *err);
void qr_batch_free(struct qr_batch *b, const struct quire_allocator *allocator);

/* Fills in the planned step of the scheduler. A task whose planned tokens are its last ones gets a
 * row of logits, and one more per draft token, unless it pools hidden states. */
quire_status qr_batch_build(struct qr_batch *b, const struct qr_scheduler *scheduler,
                            struct quire_error *err);

#endif
