/* SPDX-License-Identifier: Apache-2.0 */
/* sentencepiece.h - encoder of vocabularies that write spaces as U+2581: BPE and Unigram. */
#ifndef QR_TOKENIZER_SENTENCEPIECE_H
#define QR_TOKENIZER_SENTENCEPIECE_H
#include "tokenizer/types.h"

/* Encodes a fragment: well-formed UTF-8 without added tokens.
 * at_start: the fragment begins the input */
quire_status qr_encode_sentencepiece(struct qr_encoder *e, const uint8_t *text, size_t n,
                                     bool at_start);

/* Encodes a piece without spaces by merges of its characters. */
quire_status qr_encode_bpe_piece(struct qr_encoder *e, const uint8_t *s, size_t n);

/* Emits an unknown character by byte fallback, or the unknown token. */
void qr_emit_unknown(struct qr_encoder *e, const uint8_t *s, size_t n);

#endif
