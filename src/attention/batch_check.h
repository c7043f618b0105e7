/* SPDX-License-Identifier: Apache-2.0 */
/* batch_check.h - validation of batches. */
#ifndef QR_ATTENTION_BATCH_CHECK_H
#define QR_ATTENTION_BATCH_CHECK_H
#include "attention/types.h"

/* Words per token of a batch's tree mask. */
static inline uint32_t qr_batch_tree_words(const struct quire_attention_batch *b)
{
    return b->tree_words ? b->tree_words : 1;
}

/* Validates a batch, all but its block tables, and stages the depths of its tree mask. */
quire_status qr_batch_check(const struct quire_plan *plan, const struct quire_attention_batch *b,
                            struct quire_error *err);

#endif
