/* SPDX-License-Identifier: Apache-2.0 */
/* added_tokens.h - index of the added tokens (special and user-defined) and its search. */
#ifndef QR_TOKENIZER_ADDED_TOKENS_H
#define QR_TOKENIZER_ADDED_TOKENS_H
#include "tokenizer/types.h"

/* Fills qr_token.special and the sorted array of added tokens. Token types must be final. */
quire_status qr_added_tokens_build(struct quire_tokenizer *t, struct quire_error *err);

/* Longest added token at the start of s[0 .. n), or NULL. A special token must lie within the first
 * n_trusted bytes, which contain no user text. */
const struct qr_added_token *qr_added_token_match(const struct quire_tokenizer *t, const char *s,
                                                  size_t n, size_t n_trusted);

#endif
