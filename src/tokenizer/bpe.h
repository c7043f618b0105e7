/* SPDX-License-Identifier: Apache-2.0 */
/* bpe.h - BPE merge loop. */
#ifndef QR_TOKENIZER_BPE_H
#define QR_TOKENIZER_BPE_H
#include "tokenizer/types.h"

/* Ensures capacity for e->symbols[0 .. n_symbols). False: out of memory. */
bool qr_bpe_reserve(struct qr_encoder *e, size_t n_symbols);

/* Merges e->symbols until no merge applies: lowest rank first, leftmost first among equal ranks.
 * text: the bytes that the symbols' offsets refer to. */
quire_status qr_bpe_merge(struct qr_encoder *e, const uint8_t *text);

#endif
