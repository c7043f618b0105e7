/* SPDX-License-Identifier: Apache-2.0 */
/* ngram.h - embeddings of n-grams (struct qr_ngram_config). */
#ifndef QR_MODEL_FORWARD_NGRAM_H
#define QR_MODEL_FORWARD_NGRAM_H
#include "model/forward/types.h"

/* Adds the embeddings of the n-grams of layer i, which has some, to all streams. */
void qr_ngram_add(const struct qr_step *s, uint32_t i, const struct quire_team *team);

#endif
