/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.h - one vector for each sequence of an encoder pass. */
#ifndef QR_MODEL_FORWARD_POOLING_H
#define QR_MODEL_FORWARD_POOLING_H
#include "model/forward/types.h"

/* Adds rows [n][hidden_size] to a sum over the rows of one sequence, of which it has n_before so
 * far; 0: sum is overwritten. Rows are added in order, so that the bits depend on the sequence
 * alone. */
void qr_pool_add(const struct quire_model *m, float *sum, uint32_t n_before, const float *rows,
                 size_t n);

/* Divides the sum of n rows by n. */
void qr_pool_mean(const struct quire_model *m, float *sum, size_t n);

/* Divides a vector by its Euclidean norm; a zero vector stays zero. */
void qr_pool_normalize(float *x, size_t n);

/* Elements of an embedding behind the dense layers, and floats that qr_pool_dense needs. */
uint32_t qr_pool_width(const struct qr_model_config *c);
uint32_t qr_pool_floats(const struct qr_model_config *c);

/* Applies the dense layers to a pooled vector x[qr_pool_floats], on the calling thread, in f32 in
 * every compute mode. */
void qr_pool_dense(const struct quire_model *m, float *x);

/* Outputs of the classification head of a decoder, in place of the state of the last token:
 * x[qr_pool_class_floats]. As qr_pool_dense. */
uint32_t qr_pool_class_floats(const struct qr_model_config *c);
void qr_pool_classify(const struct quire_model *m, float *x);

/* Pools the hidden states in ctx->h, which is complete, into s->encode->pooled. All threads call
 * it. */
void qr_pool(const struct qr_step *s, const struct quire_team *team);

#endif
