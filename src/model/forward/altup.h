/* SPDX-License-Identifier: Apache-2.0 */
/* altup.h - the residual streams of AltUp (struct qr_altup_config), and LAuReL. */
#ifndef QR_MODEL_FORWARD_ALTUP_H
#define QR_MODEL_FORWARD_ALTUP_H
#include "model/forward/types.h"

struct qr_bump;

/* Reserves the buffers of a context; none in models with one residual stream and without LAuReL. */
void qr_altup_reserve(const struct quire_model *model, struct quire_context *ctx,
                      struct qr_bump *c);

/* Fills all streams from the residual stream, the input of the first layer. Ends with a barrier. */
void qr_altup_begin(const struct qr_step *s, const struct quire_team *team);

/* The active stream [rows][hidden]; a thread may read its qr_team_range of the rows. */
const float *qr_altup_active(const struct qr_step *s);

/* Predicts the streams of layer i; the active one becomes the residual stream. */
void qr_altup_predict(const struct qr_step *s, uint32_t i, const struct quire_team *team);

/* Corrects the streams by the residual stream behind the sublayers of layer i. The active one,
 * scaled if the model does that, becomes the residual stream, which per-layer embeddings read. */
void qr_altup_correct(const struct qr_step *s, uint32_t i, const struct quire_team *team);

/* Adds the normed output of the per-layer embedding, `sub`, to all streams but the first. */
void qr_altup_add(const struct qr_step *s, uint32_t i, const float *sub,
                  const struct quire_team *team);

/* The residual stream becomes the mean of all streams, the others after their projections. */
void qr_altup_merge(const struct qr_step *s, const struct quire_team *team);

/* LAuReL of layer i: out = right(left(h)) for all rows, h the normed input of attention, before the
 * output's norm. Ends with a barrier. */
void qr_laurel(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team);

#endif
