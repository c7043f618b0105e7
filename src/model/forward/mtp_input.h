/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_input.h - the input of a head of multi-token prediction (enum qr_mtp_kind), and the state of
 * one in files of its own for tokens that it drafted. */
#ifndef QR_MODEL_FORWARD_MTP_INPUT_H
#define QR_MODEL_FORWARD_MTP_INPUT_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffer from the context's memory; none in other models. */
void qr_mtp_reserve(const struct quire_model *model, struct quire_context *ctx,
                    struct qr_bump *buffers);

/* Sets the residual stream, which of a layer behind the model holds the embeddings; of a head with
 * features block_in, too, which its attention reads. */
void qr_mtp_input(const struct qr_step *s, const struct quire_team *team);

/* Writes args->last_hidden of a head in files of its own. */
void qr_mtp_output(const struct qr_step *s, const struct quire_team *team);

#endif
