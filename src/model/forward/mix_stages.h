/* SPDX-License-Identifier: Apache-2.0 */
/* mix_stages.h - stages of the recurrent sublayers of RWKV-6 and RWKV-7: products, the activation
 * of low-rank projections, functions of a row. Each ends with a barrier. */
#ifndef QR_MODEL_FORWARD_MIX_STAGES_H
#define QR_MODEL_FORWARD_MIX_STAGES_H
#include "model/forward/recurrent_scan.h"

/* out = src W^T + bias, in rows `stride` apart (0: of their width); no bias where its role is that
 * of the matrix. */
void qr_mix_project(const struct qr_recurrent *x, enum qr_weight_role role,
                    enum qr_weight_role bias, const float *src, float *out, size_t stride,
                    const struct quire_team *team);

/* The activation between the two products of a low-rank projection: sigmoid or tanh. */
void qr_mix_activate(const struct qr_recurrent *x, float *low, size_t rank, bool sigmoid,
                     const struct quire_team *team);

/* Runs a function for each row. */
void qr_mix_rows(const struct qr_recurrent *x, void (*run)(const struct qr_recurrent *, size_t),
                 const struct quire_team *team);

#endif
