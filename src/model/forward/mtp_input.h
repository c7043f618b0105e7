/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_input.h - the input of a head of multi-token prediction (struct qr_mtp_config). */
#ifndef QR_MODEL_FORWARD_MTP_INPUT_H
#define QR_MODEL_FORWARD_MTP_INPUT_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffer from the context's memory; none in other models. */
void qr_mtp_reserve(const struct quire_model *model, struct quire_context *ctx,
                    struct qr_bump *buffers);

/* The residual stream, which holds the embeddings, becomes the projection of their norm and that of
 * args->previous_hidden. */
void qr_mtp_input(const struct qr_step *s, const struct quire_team *team);

#endif
