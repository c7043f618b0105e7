/* SPDX-License-Identifier: Apache-2.0 */
/* byte_level_bpe.h - encoder of byte-level BPE vocabularies. */
#ifndef QR_TOKENIZER_BYTE_LEVEL_BPE_H
#define QR_TOKENIZER_BYTE_LEVEL_BPE_H
#include "tokenizer/types.h"

/* Encodes a fragment: well-formed UTF-8 without added tokens.
 * at_start: the fragment begins the input */
quire_status qr_encode_byte_level_bpe(struct qr_encoder *e, const uint8_t *text, size_t n,
                                      bool at_start);

#endif
