/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - the recurrences, token by token, over the rows of one sequence.
 *
 * Prefill and decode run the same steps in the same order (docs/numerics.md, R1), so the results do
 * not depend on how the tokens are divided among steps. */
#ifndef QR_RECURRENT_SCAN_H
#define QR_RECURRENT_SCAN_H
#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>

/* Columns of one work unit: with 128 keys, their state takes 32 KiB and stays in L1. */
enum { QR_SCAN_COLUMNS = 64 };

/* Some columns of one head's state, or channels of Mamba-1. Pointers are to the first row of the
 * sequence and to the first element of the head, or column; rows are `stride` floats apart. */
struct qr_scan {
    float *state; /* [n_keys][state_stride] */
    size_t state_stride, n_keys, n_values, n_rows;
    bool fresh;                      /* the sequence starts with these rows: the state is 0 */
    const float *q, *k, *v;          /* queries, keys, values; Mamba: C, B, x */
    size_t key_stride, value_stride; /* of rows of q and k; of v */
    const float *decay;              /* per row: one, or n_keys with decay_step 1 */
    size_t decay_stride, decay_step;
    const float *dt; /* outer: step size that multiplies v, or NULL; delta: beta */
    size_t dt_stride;
    float d; /* outer: out += d * v */
    float *out;
    size_t out_stride;
};

/* S = decay S + k (dt v); out = S^T q + d v. At most QR_SCAN_COLUMNS values. */
void qr_scan_outer(const struct qr_scan *s, const struct qr_kernels *kernels);

/* S = decay S; S += k beta (v - S^T k); out = S^T q. */
void qr_scan_delta(const struct qr_scan *s, const struct qr_kernels *kernels);

/* Mamba-1. Per channel c: S_n = exp(dt a_n) S_n + dt x b_n; out = sum of c_n S_n + d x. dt is one
 * per channel, rates and d belong to the channels:
 *   rates  [n_keys][state_stride]
 *   d      [n_values] */
void qr_scan_channels(const struct qr_scan *s, const float *rates, const float *d,
                      const struct qr_kernels *kernels);

#endif
