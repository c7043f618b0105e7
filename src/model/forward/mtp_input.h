/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_input.h - the input of a head of multi-token prediction (struct qr_mtp_config), and the
 * hidden state of one in files of its own. */
#ifndef QR_MODEL_FORWARD_MTP_INPUT_H
#define QR_MODEL_FORWARD_MTP_INPUT_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffer from the context's memory; none in other models. */
void qr_mtp_reserve(const struct quire_model *model, struct quire_context *ctx,
                    struct qr_bump *buffers);

/* The residual stream, which holds the embeddings, becomes the projection of their norm and that of
 * args->previous_hidden; for a head in files of its own that of the model's embeddings and
 * args->previous_hidden, without norms. */
void qr_mtp_input(const struct qr_step *s, const struct quire_team *team);

/* Writes args->last_hidden of a head in files of its own: the projection of the residual stream
 * behind the final norm to the hidden size of the model. */
void qr_mtp_output(const struct qr_step *s, const struct quire_team *team);

#endif
