/* SPDX-License-Identifier: Apache-2.0 */
/* plamo.h - vocabularies of PLaMo 2 and 3: the segmentation with the highest sum of scores, without
 * normalization. */
#ifndef QR_TOKENIZER_PLAMO_H
#define QR_TOKENIZER_PLAMO_H
#include "tokenizer/types.h"

/* The score of a file as the vocabulary has it: a multiple of 1e-4, ties to even, times 1e4. */
double qr_plamo_score(double score);

/* Copies the scores and sorts the normal tokens by text. QUIRE_E_FORMAT a normal token whose score
 * is below that of an unknown character or above its negative, or a byte without a token;
 * QUIRE_E_NOMEM. */
quire_status qr_plamo_build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                            struct quire_error *err);

/* Encodes a fragment: well-formed UTF-8 without added tokens. Runs of a character that are at least
 * break_repeats long, and of spaces of break_spaces, are segmented by themselves. Of all
 * segmentations of the rest into normal tokens and unknown characters it takes the one with the
 * highest sum of scores, exactly; of equal ones that whose first token is the longest, then its
 * second, and so on, unknown characters last. Those become the tokens of their bytes. More than
 * QR_MAX_PIECE_BYTES are segmented in parts. */
quire_status qr_encode_plamo(struct qr_encoder *e, const uint8_t *text, size_t n);

#endif
