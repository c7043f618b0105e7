/* SPDX-License-Identifier: Apache-2.0 */
/* wordpiece.h - encoder of WordPiece vocabularies. */
#ifndef QR_TOKENIZER_WORDPIECE_H
#define QR_TOKENIZER_WORDPIECE_H
#include "tokenizer/types.h"

/* Encodes a fragment: well-formed UTF-8 without added tokens. */
quire_status qr_encode_wordpiece(struct qr_encoder *e, const uint8_t *text, size_t n);

#endif
