/* SPDX-License-Identifier: Apache-2.0 */
/* index_scores.h - scores of an indexer: index queries of a token against the cached index keys. */
#ifndef QR_ATTENTION_INDEX_SCORES_H
#define QR_ATTENTION_INDEX_SCORES_H
#include "attention/types.h"

/* Index queries of a step. The index keys are those of a KV group with one head; the plan has a
 * group over it with as many query heads as a token has index queries, which is never run. */
struct qr_index_queries {
    struct quire_plan *plan;
    uint32_t group; /* of the plan */
    uint32_t layer; /* within the KV group */
    const float *q; /* [tokens][heads][head size] */
    /* [tokens][heads], or NULL. A key's score is sum_h weights[h] * max(q_h . k, 0), added in the
     * order of the heads; without weights it has one score per head, q_h . k. */
    const float *weights;
};

/* Slots of the visible keys of a token of a sequence end here. */
uint32_t qr_index_key_end(const struct qr_index_queries *x, uint32_t seq, uint32_t token);

/* Computes the scores of the keys in slots [begin, end) of a sequence for one of its new tokens.
 * Both are multiples of 64. Keys that the token does not see get -INFINITY, all others a finite
 * score: NaN and overflows become the lowest one. In compute mode f32, whatever the layer's.
 *   scores  slot p of head h at scores[h * head_stride + p]; one head with weights
 *   rank    the calling thread's, which selects its scratch memory in the plan */
void qr_index_scores(const struct qr_index_queries *x, uint32_t seq, uint32_t token, uint32_t begin,
                     uint32_t end, float *scores, size_t head_stride, uint32_t rank);

#endif
