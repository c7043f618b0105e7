/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_tokens.h - the normal tokens in ascending order of their strings, for lookup by prefix. */
#ifndef QR_TOKENIZER_SORTED_TOKENS_H
#define QR_TOKENIZER_SORTED_TOKENS_H
#include "tokenizer/types.h"

/* Sorts the normal tokens by text or by decoded bytes into t->sorted, equal strings by id, and
 * finds where each first byte begins. O(n log n) comparisons. QUIRE_E_NOMEM. */
quire_status qr_sorted_tokens_build(struct quire_tokenizer *t, bool by_bytes,
                                    struct quire_error *err);
void qr_sorted_tokens_free(struct quire_tokenizer *t);
uint64_t qr_sorted_tokens_bytes(const struct quire_tokenizer *t);

/* First index in [low, high) whose token has a byte >= `byte` at `depth`, or high. The tokens of
 * the range share their first `depth` bytes; one that ends there comes first. */
uint32_t qr_sorted_tokens_lower_bound(const struct quire_tokenizer *t, uint32_t low, uint32_t high,
                                      uint32_t depth, uint32_t byte);

/* Orders two tokens by their strings. */
int qr_sorted_tokens_compare(const struct quire_tokenizer *t, uint32_t a, uint32_t b);

/* Bytes of the string by which the token is sorted. */
static inline uint32_t qr_sorted_tokens_size(const struct quire_tokenizer *t, uint32_t id)
{
    return t->sorted.by_bytes ? t->tokens[id].bytes_size : t->tokens[id].text_size;
}

#endif
