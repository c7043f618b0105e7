/* SPDX-License-Identifier: Apache-2.0 */
/* mask.h - attention masks as key ranges and bit masks. */
#ifndef QR_ATTENTION_MASK_H
#define QR_ATTENTION_MASK_H
#include "attention/types.h"

/* Position of the sequence's first new token, equal to its slot in the cache. */
static inline uint32_t qr_seq_first_pos(const struct qr_attn_seq *s)
{
    return s->len - s->n_tokens;
}

/* Whether positions of new tokens follow the sequence's tree mask. Encoders ignore the mask. */
static inline bool qr_seq_is_tree(const struct quire_attention_config *c,
                                  const struct qr_attn_seq *s)
{
    return s->tree && (c->kind == QUIRE_ATTENTION_DECODER || c->kind == QUIRE_ATTENTION_CROSS);
}

/* Position of a new token; in a tree, the depth of the token counts. */
static inline uint32_t qr_seq_pos(const struct quire_attention_config *c,
                                  const struct qr_attn_seq *s, uint32_t token)
{
    return qr_seq_first_pos(s) + (qr_seq_is_tree(c, s) ? s->depths[token] : token);
}

/* Computes the visible keys of one query token.
 *   tree  [s->tree_words] receives the new tokens that it sees through a tree mask; not written for
 *         a sequence or kind without one; may be NULL */
struct qr_token_mask qr_token_mask(const struct quire_attention_config *c,
                                   const struct qr_attn_seq *s, uint32_t token, uint64_t *tree);

/* Hull of a token's visible keys, new tokens of a tree included. */
struct qr_key_range qr_token_mask_range(const struct qr_token_mask *k);

/* Hull of the keys that tokens first .. last see. */
struct qr_key_range qr_tokens_mask_range(const struct quire_attention_config *c,
                                         const struct qr_attn_seq *s, uint32_t first,
                                         uint32_t last);

/* Hull of two ranges. An empty one has no effect. */
static inline struct qr_key_range qr_key_range_union(struct qr_key_range a, struct qr_key_range b)
{
    if (a.lo == a.hi)
        return b;
    if (b.lo < b.hi) {
        a.lo = b.lo < a.lo ? b.lo : a.lo;
        a.hi = b.hi > a.hi ? b.hi : a.hi;
    }
    return a;
}

/* Bit mask of keys [lo, hi) in the tile of 64 keys at position `key`. */
uint64_t qr_key_range_tile_mask(uint32_t lo, uint32_t hi, uint32_t key);

#endif
