/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - one sequence in the KV cache: its tokens and its block table in every KV group. */
#ifndef QR_ENGINE_SEQUENCE_H
#define QR_ENGINE_SEQUENCE_H
#include <quire/kv_cache.h>
#include <stdbool.h>

/* The sequence holds references to blocks first_block .. end_block - 1; earlier ones fell out of
 * the window and were freed. Entry i of block_table is block i of the sequence. */
struct qr_sequence_group {
    uint32_t window; /* tokens; 0 = full attention */
    uint32_t first_block, end_block;
    int32_t *block_table; /* [max_blocks] */
};

struct qr_sequence {
    const struct quire_allocator *allocator;
    struct quire_kv_cache *kv; /* borrowed */
    uint32_t block_size, n_groups, max_tokens, max_blocks;
    struct qr_sequence_group *groups;            /* [n_groups] */
    struct quire_kv_prefix_group *prefix_groups; /* [n_groups] scratch of prefix reuse */
    int32_t *tokens;                             /* [max_tokens] tokens in the KV cache */
    uint32_t *rope_variants; /* [max_tokens] qr_rope_variant() under which keys were computed */
    uint32_t n_tokens;
};

/* Creates an empty sequence of at most max_tokens and reserves all memory it will use. On failure
 * there is nothing to free. */
quire_status qr_sequence_init(struct qr_sequence *s, struct quire_kv_cache *kv, uint32_t max_tokens,
                              const struct quire_allocator *allocator, struct quire_error *err);
void qr_sequence_free(struct qr_sequence *s); /* frees its blocks too; safe on zeroes */

/* Truncates the sequence to its longest common prefix with tokens[0 .. n) under this RoPE variant
 * and returns the length of that prefix in tokens. The result is 0 when a windowed group has freed
 * blocks that the next token attends to. */
uint32_t qr_sequence_reuse_prefix(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                                  uint32_t rope_variant);

/* Allocates blocks for n more tokens. A windowed group frees blocks that fell out of its window
 * only when its pool runs short: until then a shorter prefix can still be reused.
 * QUIRE_E_AGAIN: the pool is too small; blocks allocated so far stay with the sequence. */
quire_status qr_sequence_reserve(struct qr_sequence *s, uint32_t n, struct quire_error *err);

/* Appends n tokens whose keys and values a step has written to the reserved blocks. */
void qr_sequence_append(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                        uint32_t rope_variant);

void qr_sequence_clear(struct qr_sequence *s); /* drops all tokens and frees all blocks */

/* Blocks a group needs so that qr_sequence_reserve() cannot fail for a sequence of max_tokens that
 * grows by at most step_tokens at a time. Windowed groups get rollback_tokens on top: the sequence
 * can be truncated by as many without recomputation. */
uint32_t qr_sequence_blocks_needed(uint32_t block_size, uint32_t window, uint32_t max_tokens,
                                   uint32_t step_tokens, uint32_t rollback_tokens);

#endif
