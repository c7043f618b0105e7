/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - one sequence in the KV cache: its tokens, and its blocks in every KV group. */
#ifndef QR_ENGINE_SEQUENCE_H
#define QR_ENGINE_SEQUENCE_H
#include <quire/kv_cache.h>
#include <stdbool.h>

/* Blocks first .. end-1 of the sequence are in table[first .. end-1]; those before `first` fell
 * out of the window. */
struct qr_seq_group {
    uint32_t window; /* 0 = full attention */
    uint32_t first, end;
    int32_t *table; /* [max_blocks] */
};

struct qr_sequence {
    const struct quire_allocator *allocator;
    struct quire_kv_cache *kv; /* borrowed */
    uint32_t block_size, n_groups, max_tokens, max_blocks;
    struct qr_seq_group *groups;        /* [n_groups] */
    struct quire_kv_prefix_group *held; /* [n_groups] room for qr_sequence_keep_prefix */
    int32_t *tokens;                    /* [max_tokens] whose keys and values are in the cache */
    uint32_t *rope_keys; /* [max_tokens] what besides token and position their bits depend on */
    uint32_t n_tokens;
};

/* An empty sequence of at most max_tokens; reserves all it will need. On failure there is
 * nothing to free. */
quire_status qr_sequence_init(struct qr_sequence *s, struct quire_kv_cache *kv, uint32_t max_tokens,
                              const struct quire_allocator *allocator, struct quire_error *err);
void qr_sequence_free(struct qr_sequence *s); /* gives its blocks back; safe on zeroes */

/* Shortens the sequence to the longest prefix of tokens[0 .. n) that it holds with this rope
 * key, and returns its length. A windowed group that has given up keys which the next token
 * would see makes that 0. */
uint32_t qr_sequence_keep_prefix(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                                 uint32_t rope_key);

/* Makes room for n more tokens. Blocks that fell out of a window are given up only when their
 * group runs short: until then a conversation that steps back can still use them.
 * QUIRE_E_AGAIN: the pool is too small; what was taken so far stays with the sequence. */
quire_status qr_sequence_reserve(struct qr_sequence *s, uint32_t n, struct quire_error *err);

/* Appends n tokens that a step has written to the room reserved. */
void qr_sequence_append(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                        uint32_t rope_key);

void qr_sequence_clear(struct qr_sequence *s); /* forgets all tokens and gives all blocks back */

/* Blocks a group needs so that qr_sequence_reserve never fails for a sequence of max_tokens
 * that grows by at most `step` tokens at a time. Windowed groups get room to step back by
 * `rewind` tokens on top. */
uint32_t qr_sequence_blocks(uint32_t block_size, uint32_t window, uint32_t max_tokens,
                            uint32_t step, uint32_t rewind);

#endif
