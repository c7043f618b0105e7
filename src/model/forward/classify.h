/* SPDX-License-Identifier: Apache-2.0 */
/* classify.h - the classification head of an encoder. */
#ifndef QR_MODEL_FORWARD_CLASSIFY_H
#define QR_MODEL_FORWARD_CLASSIFY_H
#include "model/forward/types.h"

/* Computes s->encode->scores from the hidden states in ctx->h, which is complete. All threads call
 * it. */
void qr_classify(const struct qr_step *s, const struct quire_team *team);

#endif
