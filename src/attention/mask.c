/* SPDX-License-Identifier: Apache-2.0 */
/* mask.c - evaluates causal, window, chunk, span and tree masks to key ranges. */
#include "attention/mask.h"
#include "kernels/kernels_attn.h"

enum { TILE = QR_TILE_KEYS };

static bool is_causal(const struct quire_attention_config *c, const struct qr_attn_seq *s)
{
    return s->override_causal && c->kind == QUIRE_ATTENTION_DECODER ? s->causal : c->causal != 0;
}

/* Keys that the causal mask, window and chunk leave visible to a query at pos. Both ends are
 * monotonic in pos. */
static struct qr_key_range base_range(const struct quire_attention_config *c,
                                      const struct qr_attn_seq *s, uint32_t pos, bool causal)
{
    struct qr_key_range r = { 0, c->kind == QUIRE_ATTENTION_CROSS ? s->encoder_len : s->len };
    if (c->window_left >= 0 && pos > (uint32_t)c->window_left)
        r.lo = pos - (uint32_t)c->window_left;
    if (causal && pos + 1 < r.hi)
        r.hi = pos + 1;
    if (c->window_right >= 0 && (uint64_t)pos + (uint32_t)c->window_right + 1 < r.hi)
        r.hi = pos + (uint32_t)c->window_right + 1;
    if (c->chunk_size) {
        const uint32_t begin = pos - pos % c->chunk_size;
        r.lo = begin > r.lo ? begin : r.lo;
        if ((uint64_t)begin + c->chunk_size < r.hi)
            r.hi = begin + c->chunk_size;
    }
    if (r.lo > r.hi) /* beyond the end of the encoder */
        r.lo = r.hi;
    return r;
}

/* Union of r and the bidirectional span around pos, if any. Both contain pos, so the union is one
 * range, and its ends remain monotonic in pos. */
static struct qr_key_range with_span(const struct qr_attn_seq *s, uint32_t pos,
                                     struct qr_key_range r)
{
    uint32_t below = 0, above = s->n_spans; /* spans[below - 1] begins at or before pos */
    while (below < above) {
        const uint32_t mid = below + (above - below) / 2;
        if ((uint32_t)s->spans[mid].begin <= pos)
            below = mid + 1;
        else
            above = mid;
    }
    if (below && pos < (uint32_t)s->spans[below - 1].end)
        r = qr_key_range_union(r, (struct qr_key_range){ (uint32_t)s->spans[below - 1].begin,
                                                         (uint32_t)s->spans[below - 1].end });
    return r;
}

/* Cache slots, of the sequence's own, of the keys that a query at pos sees. */
static struct qr_key_range range_at(const struct quire_attention_config *c,
                                    const struct qr_attn_seq *s, uint32_t pos, bool causal)
{
    struct qr_key_range r = base_range(c, s, pos, causal);
    if (c->kind == QUIRE_ATTENTION_DECODER && s->n_spans)
        r = with_span(s, pos, r);
    return (struct qr_key_range){ qr_key_shard_below(&s->shard, r.lo),
                                  qr_key_shard_below(&s->shard, r.hi) };
}

/* Restricts word `at` of a tree mask to new tokens whose positions lie in r. */
static uint64_t clip_word(const struct qr_attn_seq *s, uint64_t mask, uint32_t at,
                          struct qr_key_range r)
{
    uint64_t seen = 0;
    for (; mask; mask &= mask - 1) {
        const uint32_t token = at * 64 + (uint32_t)__builtin_ctzll(mask),
                       pos = qr_seq_first_pos(s) + s->depths[token];
        if (pos >= r.lo && pos < r.hi)
            seen |= mask & -mask;
    }
    return seen;
}

/* Computes the new tokens that `token` sees: those of its mask whose positions lie in r. Returns
 * their hull and fills `tree` unless it is NULL. */
static struct qr_key_range clip_tree(const struct qr_attn_seq *s, uint32_t token,
                                     struct qr_key_range r, uint64_t *tree)
{
    const uint64_t *mask = s->tree + (size_t)token * s->tree_words;
    const uint32_t first = qr_seq_first_pos(s);
    /* the depth of a token is at most its index */
    const bool all = r.lo <= first && r.hi > first + token;
    struct qr_key_range hull = { 0, 0 };
    for (uint32_t i = 0; i < s->tree_words; i++) {
        const uint64_t seen = all ? mask[i] : clip_word(s, mask[i], i, r);
        const uint32_t key = first + i * 64;
        if (tree)
            tree[i] = seen;
        if (seen)
            hull = qr_key_range_union(
                hull, (struct qr_key_range){ key + (uint32_t)__builtin_ctzll(seen),
                                             key + 64 - (uint32_t)__builtin_clzll(seen) });
    }
    return hull;
}

struct qr_token_mask qr_token_mask(const struct quire_attention_config *c,
                                   const struct qr_attn_seq *s, uint32_t token, uint64_t *tree)
{
    const uint32_t first = qr_seq_first_pos(s);
    const bool masked = c->kind == QUIRE_ATTENTION_DECODER && s->tree;
    struct qr_token_mask k = { .pos = qr_seq_pos(c, s, token) };
    /* a tree mask replaces the causal mask: all new tokens see the context before them */
    k.range = range_at(c, s, k.pos, is_causal(c, s) && !masked);
    if (masked) {
        k.drafted = clip_tree(s, token, k.range, tree);
        k.range.lo = k.range.lo < first ? k.range.lo : first;
        k.range.hi = first;
    }
    return k;
}

struct qr_key_range qr_token_mask_range(const struct qr_token_mask *k)
{
    return qr_key_range_union(k->range, k->drafted);
}

struct qr_key_range qr_tokens_mask_range(const struct quire_attention_config *c,
                                         const struct qr_attn_seq *s, uint32_t first, uint32_t last)
{
    struct qr_key_range r = { 0, 0 };
    if (!qr_seq_is_tree(c, s)) { /* both ends are monotonic in the token */
        const uint32_t pos = qr_seq_first_pos(s);
        const bool causal = is_causal(c, s);
        r = range_at(c, s, pos + first, causal);
        if (last > first)
            r.hi = range_at(c, s, pos + last, causal).hi;
        return r;
    }
    for (uint32_t t = first; t <= last; t++) {
        const struct qr_token_mask k = qr_token_mask(c, s, t, NULL);
        r = qr_key_range_union(r, qr_token_mask_range(&k));
    }
    return r;
}

uint64_t qr_key_range_tile_mask(uint32_t lo, uint32_t hi, uint32_t key)
{
    const uint32_t begin = lo > key ? lo - key : 0, end = hi > key ? hi - key : 0;
    if (begin >= TILE || end <= begin)
        return 0;
    const uint64_t below_end = end < TILE ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0;
    return below_end & ~(uint64_t)0 << begin;
}
