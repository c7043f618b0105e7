/* SPDX-License-Identifier: Apache-2.0 */
/* hyper.h - the residual streams of hyper-connections (struct qr_hyper_config). */
#ifndef QR_MODEL_FORWARD_HYPER_H
#define QR_MODEL_FORWARD_HYPER_H
#include "model/forward/types.h"

struct qr_bump;

/* What reads the streams. */
enum qr_hyper_site { QR_HYPER_ATTENTION, QR_HYPER_FFN, QR_HYPER_OUTPUT };

/* Reserves the buffers of a context; none in models with one residual stream. */
void qr_hyper_reserve(const struct quire_model *model, struct quire_context *ctx,
                      struct qr_bump *c);

/* Fills all streams with the residual stream, the input of the first layer. */
void qr_hyper_begin(const struct qr_step *s, const struct quire_team *team);

/* The residual stream becomes the mixture that a sublayer of layer i, or the output, reads. Also
 * computes the weights of the sublayer's output. */
void qr_hyper_read(const struct qr_step *s, uint32_t i, enum qr_hyper_site at,
                   const struct quire_team *team);

/* Adds the output of the sublayer to each stream, times its weight. */
void qr_hyper_add(const struct qr_step *s, const float *sub, const struct quire_team *team);

/* The mean of the streams of rows [begin, end), which must be of the thread's range. */
void qr_hyper_mean(const struct qr_step *s, float *out, size_t begin, size_t end);

/* Norms each stream of a row by its part of the weights, in place. */
void qr_hyper_norm_row(const struct qr_step *s, const float *weight, float *row);

#endif
