/* SPDX-License-Identifier: Apache-2.0 */
/* projection.h - matmuls of a step: conversion of the input rows, and products over the team. */
#ifndef QR_MODEL_FORWARD_PROJECTION_H
#define QR_MODEL_FORWARD_PROJECTION_H
#include "linear/linear.h"
#include "model/forward/adapter_apply.h"
#include "model/forward/types.h"

/* Converts src[m][k] to the activation forms that the weights w[n] read; entries of w but the first
 * may be NULL. Up to QR_REPLICATED_ROWS_MAX rows, each thread converts all of them to its own
 * memory: src must be complete, or a copy of the thread's own. With more rows, thread t converts
 * its range of qr_team_range(team, m, 1), which alone must be complete, to shared memory; ends
 * with a barrier then. */
void qr_convert_input(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                      int n, const float *src, size_t m, const struct quire_team *team);

/* out[m][w->n] = act W^T + bias */
struct qr_projection {
    const struct qr_packed *w;
    const float *bias; /* may be NULL */
    float *out;
    struct qr_adapter_site site; /* role QR_W_TOKEN_EMBD, or zeros: no adapter updates the matrix */
};

/* Computes up to QR_LINEAR_MAX_FUSED projections of one input as one stage. The caller has a
 * barrier after it. */
void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_projection *p,
                size_t n, const struct quire_team *team);

/* The same into rows of out that are strides[i] floats apart; 0 = w->n. */
void qr_project_strided(const struct qr_step *s, const struct qr_act *act,
                        const struct qr_projection *p, const size_t *strides, size_t n,
                        const struct quire_team *team);

/* The same in compute mode f32, which needs no conversion, from src[n_tokens][k]. */
void qr_project_f32(const struct qr_step *s, const float *src, const struct qr_projection *p,
                    size_t n, const struct quire_team *team);

#endif
