/* SPDX-License-Identifier: Apache-2.0 */
/* encode_step.c - the forward pass of a step of an encoder: whole sequences, without a KV cache. */
#include "engine/encode_step.h"
#include "engine/request.h"
#include <string.h>

/* Writes the token types of sequence i of the batch. */
static void place_types(struct quire_engine *e, uint32_t i, const int32_t *types)
{
    const struct qr_batch *b = &e->batch;
    const size_t begin = (size_t)b->query_start_loc[i],
                 n = (size_t)b->query_start_loc[i + 1] - begin;
    if (types)
        memcpy(e->vectors.type_ids + begin, types, n * sizeof *types);
    else
        memset(e->vectors.type_ids + begin, 0, n * sizeof *types);
}

quire_status qr_encode_step(struct quire_engine *e, struct quire_error *err)
{
    const struct qr_batch *b = &e->batch;
    bool pooler = false, scores = false;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const struct qr_vector *v = &qr_request_of(e->scheduler.step[i])->vector;
        pooler |= v->task == QUIRE_TASK_EMBED && v->pooling == QUIRE_POOLING_POOLER;
        scores |= v->task == QUIRE_TASK_SCORE;
        place_types(e, i, v->type_ids);
    }
    const struct quire_encode_args args = {
        .struct_size = sizeof args,
        .n_seqs = b->n_seqs,
        .query_start_loc = b->query_start_loc,
        .token_ids = b->token_ids,
        .token_type_ids = e->vectors.type_ids,
        .hidden = e->vectors.hidden,
        .pooled = pooler ? e->vectors.pooled : NULL,
        .pooling = QUIRE_POOLING_POOLER,
        .scores = scores ? e->vectors.scores : NULL,
    };
    return quire_context_encode(e->context, &args, err);
}
