/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - the recurrences, token by token, over the rows of one sequence. */
#include "recurrent/scan.h"
#include <string.h>

static void begin(const struct qr_scan *s)
{
    for (size_t i = 0; s->fresh && i < s->n_keys; i++)
        memset(s->state + i * s->state_stride, 0, s->n_values * sizeof *s->state);
}

void qr_scan_outer(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    float scaled[QR_SCAN_COLUMNS];
    begin(s);
    for (size_t r = 0; r < s->n_rows; r++) {
        const float *v = s->v + r * s->value_stride, *in = v;
        float *out = s->out + r * s->out_stride;
        if (s->dt) {
            memcpy(scaled, v, s->n_values * sizeof *scaled);
            kernels->scale(scaled, s->dt[r * s->dt_stride], s->n_values);
            in = scaled;
        }
        kernels->state_outer(s->state, s->state_stride, out, s->q + r * s->key_stride,
                             s->k + r * s->key_stride, in, s->decay[r * s->decay_stride], s->n_keys,
                             s->n_values);
        if (s->d != 0)
            kernels->axpy(out, s->d, v, s->n_values);
    }
}

void qr_scan_delta(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    begin(s);
    for (size_t r = 0; r < s->n_rows; r++)
        kernels->state_delta(s->state, s->state_stride, s->out + r * s->out_stride,
                             s->q + r * s->key_stride, s->k + r * s->key_stride,
                             s->v + r * s->value_stride, s->decay + r * s->decay_stride,
                             s->decay_step, s->dt[r * s->dt_stride], s->n_keys, s->n_values);
}

void qr_scan_channels(const struct qr_scan *s, const float *rates, const float *d,
                      const struct qr_kernels *kernels)
{
    begin(s);
    for (size_t r = 0; r < s->n_rows; r++) {
        const float *x = s->v + r * s->value_stride;
        float *out = s->out + r * s->out_stride;
        kernels->state_channels(s->state, rates, s->state_stride, out, s->dt + r * s->dt_stride, x,
                                s->k + r * s->key_stride, s->q + r * s->key_stride, s->n_keys,
                                s->n_values);
        for (size_t j = 0; j < s->n_values; j++)
            out[j] += d[j] * x[j];
    }
}
