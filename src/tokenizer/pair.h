/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - what joins two texts that are encoded as a pair. */
#ifndef QR_TOKENIZER_PAIR_H
#define QR_TOKENIZER_PAIR_H
#include "tokenizer/types.h"

/* A pair is the first text with QUIRE_ENCODE_ADD_BOS, these tokens, and the second text with
 * QUIRE_ENCODE_ADD_EOS. */
struct qr_pair_template {
    const int32_t *ids; /* [n_ids] */
    uint32_t n_ids;
    int32_t second_type; /* token type of the second text and what follows; all before has 0 */
};

/* False: the tokenizer has no template for pairs. */
static inline bool qr_tokenizer_pair(const struct quire_tokenizer *t, struct qr_pair_template *p)
{
    *p = (struct qr_pair_template){ t->pair_ids, t->n_pair_ids, t->pair_type };
    return t->has_pair;
}

#endif
