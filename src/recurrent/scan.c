/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - the recurrences, token by token, over the rows of one sequence. */
#include "recurrent/scan.h"
#include <string.h>

enum recurrence { OUTER, DELTA, CHANNELS };

/* rates, d: of CHANNELS, else NULL. */
static void run_rows(enum recurrence kind, const struct qr_scan *s, const float *rates,
                     const float *d, const struct qr_kernels *kernels)
{
    switch (kind) {
    case OUTER:
        kernels->state_outer(s);
        break;
    case DELTA:
        kernels->state_delta(s);
        break;
    case CHANNELS:
        kernels->state_channels(s, rates, d);
        break;
    }
}

/* Row t alone. */
static struct qr_scan row_of(const struct qr_scan *s, size_t t)
{
    struct qr_scan row = *s;
    row.n_rows = 1;
    row.q += t * s->key_stride;
    row.k += t * s->key_stride;
    row.v += t * s->value_stride;
    row.out += t * s->out_stride;
    if (s->decay)
        row.decay += t * s->decay_stride;
    if (s->dt)
        row.dt += t * s->dt_stride;
    return row;
}

/* A bf16 state is rounded after every row, so its bits do not depend on how the rows are divided
 * among steps. */
static void run(enum recurrence kind, const struct qr_scan *s, uint16_t *stored, const float *rates,
                const float *d, const struct qr_kernels *kernels)
{
    const size_t n = s->n_keys * s->n_values;
    for (size_t i = 0; s->fresh && i < s->n_keys; i++)
        memset(s->state + i * s->state_stride, 0, s->n_values * sizeof *s->state);
    if (!stored) {
        run_rows(kind, s, rates, d, kernels);
        return;
    }
    if (!s->fresh)
        kernels->dequantize_bf16(s->state, stored, 1, n);
    for (size_t t = 0; t < s->n_rows; t++) {
        const struct qr_scan row = row_of(s, t);
        run_rows(kind, &row, rates, d, kernels);
        kernels->quantize_bf16(stored, s->state, 1, n);
        if (t + 1 < s->n_rows)
            kernels->dequantize_bf16(s->state, stored, 1, n);
    }
}

void qr_scan_outer(const struct qr_scan *s, uint16_t *stored, const struct qr_kernels *kernels)
{
    run(OUTER, s, stored, NULL, NULL, kernels);
}

void qr_scan_delta(const struct qr_scan *s, uint16_t *stored, const struct qr_kernels *kernels)
{
    run(DELTA, s, stored, NULL, NULL, kernels);
}

void qr_scan_channels(const struct qr_scan *s, uint16_t *stored, const float *rates, const float *d,
                      const struct qr_kernels *kernels)
{
    run(CHANNELS, s, stored, rates, d, kernels);
}
