/* SPDX-License-Identifier: Apache-2.0 */
/* conv_attention.h - queries, keys and values of convolutional attention
 * (qr_conv_attention_config). */
#ifndef QR_MODEL_FORWARD_CONV_ATTENTION_H
#define QR_MODEL_FORWARD_CONV_ATTENTION_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers of convolutional attention, if the model has it. */
void qr_conv_attention_reserve(const struct qr_model_config *c, struct quire_context *ctx,
                               struct qr_bump *buffers);

/* From the layer's input to the convolved queries and keys in ctx->q and ctx->k and the values in
 * ctx->v; advances the states of the sequences. Ends with a barrier. */
void qr_conv_attention_project(const struct qr_step *s, uint32_t layer, const struct qr_act *act,
                               const struct quire_team *team);

/* Adds the means of heads as projected to the queries and keys of row r. */
void qr_conv_attention_add_means(const struct qr_step *s, uint32_t layer, size_t r);

#endif
