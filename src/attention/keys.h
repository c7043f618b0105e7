/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - which keys the queries of a sequence see. */
#ifndef QR_ATTENTION_KEYS_H
#define QR_ATTENTION_KEYS_H
#include <quire/attention.h>
#include <stdbool.h>

/* Keys [lo, hi); lo == hi: none. */
struct qr_key_range {
    uint32_t lo, hi;
};

/* A sequence of the batch. */
struct qr_plan_seq {
    uint32_t first_token, n_tokens; /* rows of q; the last tokens of the sequence */
    uint32_t len;
    uint32_t encoder_len;         /* keys of its encoder */
    bool override_causal, causal; /* the sequence's own flag */
    uint32_t n_spans;
    const struct quire_token_range *spans; /* bidirectional, rising */
    const uint64_t *tree;                  /* [n_tokens] tree mask, or NULL */
};

enum { QR_TREE_TOKENS = 64 }; /* of a sequence at most */

/* Position of the sequence's first new token, which is also its place in the cache. */
static inline uint32_t qr_plan_first_pos(const struct qr_plan_seq *s)
{
    return s->len - s->n_tokens;
}

/* Position of a new token: behind those it sees if there is a tree. */
static inline uint32_t qr_plan_pos(const struct qr_plan_seq *s, uint32_t token)
{
    return qr_plan_first_pos(s) +
           (s->tree ? (uint32_t)__builtin_popcountll(s->tree[token]) - 1 : token);
}

/* What the query of one token sees: a range of places in the cache, and of the new tokens of a
 * sequence with a tree, which the range leaves out, those whose bits are set. */
struct qr_token_keys {
    uint32_t pos;
    struct qr_key_range range;
    uint64_t tree;
};
struct qr_token_keys qr_token_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t token);

/* All of it, from the first to the last. */
struct qr_key_range qr_token_keys_range(const struct qr_plan_seq *s, const struct qr_token_keys *k);

/* The range from the first to the last key that some token of first .. last sees. */
struct qr_key_range qr_tokens_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t first, uint32_t last);

/* The smallest range with both in it. */
static inline struct qr_key_range qr_key_union(struct qr_key_range a, struct qr_key_range b)
{
    if (a.lo == a.hi)
        return b;
    if (b.lo < b.hi) {
        a.lo = b.lo < a.lo ? b.lo : a.lo;
        a.hi = b.hi > a.hi ? b.hi : a.hi;
    }
    return a;
}

/* Keys [lo, hi) as bits of the tile of 64 at `key`. */
uint64_t qr_tile_bits(uint32_t lo, uint32_t hi, uint32_t key);

#endif
