/* SPDX-License-Identifier: Apache-2.0 */
/* word_bpe.h - merges over the characters of words, without the white space between them
 * (jina-embeddings-v2-base-zh). */
#ifndef QR_TOKENIZER_WORD_BPE_H
#define QR_TOKENIZER_WORD_BPE_H
#include "tokenizer/types.h"

/* Encodes a fragment: well-formed UTF-8 without added tokens, after NFC and in lower case where the
 * vocabulary wants that. Words end at white space, which is dropped; with split_words also between
 * letters, marks, digits or connectors and other characters, as \w+|[^\w\s]+ of Rust's regex crate
 * does; and after QR_MAX_PIECE_BYTES. A character that is no token becomes the tokens of its bytes
 * or the unknown token. */
quire_status qr_encode_word_bpe(struct qr_encoder *e, const uint8_t *text, size_t n);

#endif
