/* SPDX-License-Identifier: Apache-2.0 */
/* disentangled.h - scores of disentangled attention that depend on distances
 * (qr_disentangled_config). */
#ifndef QR_MODEL_FORWARD_DISENTANGLED_H
#define QR_MODEL_FORWARD_DISENTANGLED_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the memory of the scores, if the model has disentangled attention: max_encoder_tokens
 * times heads times max_encoder_len values. */
void qr_disentangled_reserve(const struct quire_model *m, struct quire_context *ctx,
                             struct qr_bump *buffers);

/* Fills ctx->score_bias for the queries in ctx->q and the keys in ctx->k of an encoder pass, for
 * qr_attention_part_with. Ends with a barrier. */
void qr_disentangled_scores(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

#endif
