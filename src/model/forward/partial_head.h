/* SPDX-License-Identifier: Apache-2.0 */
/* partial_head.h - logits of an output matrix that gives those of a part of the tokens only (struct
 * qr_mtp_config): some rows of it are computed, or it has no others. */
#ifndef QR_MODEL_FORWARD_PARTIAL_HEAD_H
#define QR_MODEL_FORWARD_PARTIAL_HEAD_H
#include "base/bump.h"
#include "model/forward/types.h"

/* Takes the buffers from the context's memory; none in other models. */
void qr_partial_head_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers);

/* Fills args->logits: products of the rows of src, [n_logits][hidden] behind the final norm, with
 * the rows of the matrix, of those with clusters in the chosen ones, and -inf elsewhere. Starts and
 * ends as qr_lm_head(). */
void qr_partial_head(const struct qr_step *s, const float *src, const struct quire_team *team);

#endif
