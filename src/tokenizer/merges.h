/* SPDX-License-Identifier: Apache-2.0 */
/* merges.h - BPE merge table and merge order. */
#ifndef QR_TOKENIZER_MERGES_H
#define QR_TOKENIZER_MERGES_H
#include "base/keyed_hash.h"
#include "tokenizer/types.h"

/* Merge of two tokens, or NULL. */
static inline const struct qr_merge *qr_merge_find(const struct quire_tokenizer *t, int32_t left,
                                                   int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    for (size_t i = qr_hash_u64(t->hash_key, key);; i++) {
        const struct qr_merge *m = &t->merges[i & (t->n_merge_slots - 1)];
        if (m->id == QUIRE_TOKEN_NONE)
            return NULL;
        if (m->key == key)
            return m;
    }
}

/* Builds the merge table from the list of merges; the index in the list is the rank. */
quire_status qr_merges_add(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                           struct quire_error *err);

/* Fills score_rank[]: the merge order of vocabularies with scores instead of merges. */
quire_status qr_merges_order_by_score(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                      struct quire_error *err);

/* Sets tokens_cross_spaces from all normal tokens. */
void qr_merges_find_inner_spaces(struct quire_tokenizer *t);

#endif
