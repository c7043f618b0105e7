/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_scan.h - states of the sequences of a step: checks, and the stages of a recurrent layer
 * that read and advance them. */
#ifndef QR_MODEL_FORWARD_RECURRENT_SCAN_H
#define QR_MODEL_FORWARD_RECURRENT_SCAN_H
#include "model/forward/types.h"

/* One recurrent layer of a step. */
struct qr_recurrent {
    const struct qr_step *s;
    const struct qr_model_layer *layer;
    const struct qr_recurrent_config *config;
    size_t keys, values, dt_width; /* of a row: elements of q (and of k), of v, step sizes */
    size_t in_width;               /* of a row of q, k and v */
    float *values_in;              /* rows of q, k and v that the recurrence reads */
};

struct qr_recurrent qr_recurrent_describe(const struct qr_step *s, uint32_t i);

/* Checks the slots of a step and enters its sequences in ctx->recurrent.runs.
 * QUIRE_E_INVALID_ARG, QUIRE_E_RANGE, QUIRE_E_MISUSE, QUIRE_E_UNSUPPORTED (a tree mask). */
quire_status qr_recurrent_place(const struct qr_step *s, struct quire_error *err);

/* Gates of RG-LRU, from the convolved channels. Ends with a barrier. */
void qr_recurrent_gates(const struct qr_recurrent *x, const struct quire_team *team);

/* Stages; each ends with a barrier. Convolution and SiLU from `in` to `conv`; gated convolution
 * from `in` to `out`; recurrence from values_in, dt, decay and beta to `out`. */
void qr_recurrent_convolve(const struct qr_recurrent *x, const struct quire_team *team);
void qr_recurrent_short_conv(const struct qr_recurrent *x, const struct quire_team *team);
void qr_recurrent_scan(const struct qr_recurrent *x, const struct quire_team *team);

#endif
