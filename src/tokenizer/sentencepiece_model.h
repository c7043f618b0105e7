/* SPDX-License-Identifier: Apache-2.0 */
/* sentencepiece_model.h - reads tokenizer.model. */
#ifndef QR_TOKENIZER_SENTENCEPIECE_MODEL_H
#define QR_TOKENIZER_SENTENCEPIECE_MODEL_H
#include "tokenizer/types.h"

/* Reads a SentencePiece model into an initialized description, whose strings then point into
 * data. */
quire_status qr_sentencepiece_model_read(struct qr_vocab_spec *spec, const uint8_t *data,
                                         size_t size, struct quire_error *err);

#endif
