/* SPDX-License-Identifier: Apache-2.0 */
/* markov_head.h - the Markov head of a block drafter (struct qr_mtp_config): a bias of the logits
 * of a row by the token before the one that it predicts, and the confidence in what is drawn then
 * (DSpark). quire/markov_head.h has its entry. */
#ifndef QR_MODEL_FORWARD_MARKOV_HEAD_H
#define QR_MODEL_FORWARD_MARKOV_HEAD_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in other models. */
void qr_markov_reserve(const struct quire_model *model, struct quire_context *ctx,
                       struct qr_bump *buffers);

#endif
