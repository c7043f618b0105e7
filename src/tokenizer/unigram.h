/* SPDX-License-Identifier: Apache-2.0 */
/* unigram.h - Unigram vocabularies: the segmentation with the highest sum of scores. */
#ifndef QR_TOKENIZER_UNIGRAM_H
#define QR_TOKENIZER_UNIGRAM_H
#include "tokenizer/types.h"

/* Copies the scores, sorts the normal tokens by text and sets the score of unknown characters.
 * QUIRE_E_FORMAT a score that is not finite, QUIRE_E_NOMEM. */
quire_status qr_unigram_build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                              struct quire_error *err);
void qr_unigram_free(struct quire_tokenizer *t);
uint64_t qr_unigram_bytes(const struct quire_tokenizer *t);

/* Encodes e->piece, which has at least one character: of all its segmentations into normal tokens
 * and unknown characters the one whose scores have the highest sum, in double precision. Sums are
 * compared in ascending order of begin and of size, and the first of equal ones is kept. */
quire_status qr_unigram_encode_piece(struct qr_encoder *e);

#endif
