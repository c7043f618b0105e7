/* SPDX-License-Identifier: Apache-2.0 */
/* key_selection.h - keys that were selected for each query. */
#ifndef QR_ATTENTION_KEY_SELECTION_H
#define QR_ATTENTION_KEY_SELECTION_H
#include "attention/types.h"

/* Token selection: the keys that the queries of a token may attend to, of those that the other
 * rules leave visible. A token and head has `words` words, in which bit p % 64 of word p / 64 is
 * the key in cache slot p of the sequence. */
struct qr_key_selection {
    const uint64_t *bits; /* [tokens][n_heads][words] */
    size_t words;         /* enough for the longest sequence */
    uint32_t n_heads;     /* divides the KV heads; adjacent KV heads share a selection */
};

/* The selection of a token (a row of q) and KV head, of n_kv_heads. */
static inline const uint64_t *qr_key_selection_row(const struct qr_key_selection *s, size_t token,
                                                   uint32_t kv_head, uint32_t n_kv_heads)
{
    const size_t head = (size_t)kv_head * s->n_heads / n_kv_heads;
    return s->bits + (token * s->n_heads + head) * s->words;
}

#endif
