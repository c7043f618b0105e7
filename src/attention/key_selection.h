/* SPDX-License-Identifier: Apache-2.0 */
/* key_selection.h - attention of each query to keys that were selected for it. */
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

/* quire_attention_part with a selection; NULL: all keys. Both give the same bits where a selection
 * has every visible key. */
void qr_attention_part_selected(struct quire_plan *plan, const struct quire_attention_args *args,
                                const struct qr_key_selection *selection,
                                const struct quire_team *team);

#endif
