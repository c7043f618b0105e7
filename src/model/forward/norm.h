/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - the norms of a model, applied to rows. */
#ifndef QR_MODEL_FORWARD_NORM_H
#define QR_MODEL_FORWARD_NORM_H
#include "model/forward/types.h"

/* Normalizes rows [begin, end) of src[][width] with the vectors of roles w and b. Without a weight
 * vector, the norm has no gain. dst may be src. */
void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                  enum qr_weight_role w, enum qr_weight_role b, float *dst, const float *src,
                  size_t width, size_t begin, size_t end);

/* Normalizes one vector in place, without bias, as the model's other norms; QR_NORM_RMS_PLAMO: as
 * those of queries and keys. */
void qr_norm_vector(const struct qr_step *s, const float *weight, float *x, size_t width);

/* The same with a bias, which may be NULL. */
void qr_norm_vector_biased(const struct qr_step *s, const float *weight, const float *bias,
                           float *x, size_t width);

/* Applies the stack's final norm to rows [begin, end); copies them where it has none. */
void qr_final_norm_rows(const struct qr_step *s, float *dst, const float *src, size_t begin,
                        size_t end);

#endif
