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

/* Whether the rows of a step are those of the model that a block drafter reads: of these only keys
 * and values are computed, and there are no token ids. */
static inline bool qr_mtp_stores_context(const struct qr_step *s)
{
    return s->ctx->model->config->mtp.kind == QR_MTP_BLOCK && s->args->previous_hidden;
}

/* Computes and writes these keys and values. Starts after a barrier. */
void qr_mtp_store_context(const struct qr_step *s, const struct quire_team *team);

/* Writes args->last_hidden of a head in files of its own, or of one of several heads: the residual
 * stream, or its projection. */
void qr_mtp_output(const struct qr_step *s, const struct quire_team *team);

#endif
