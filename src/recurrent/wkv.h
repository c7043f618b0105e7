/* SPDX-License-Identifier: Apache-2.0 */
/* wkv.h - the recurrence of RWKV-4 (arXiv 2305.13048), token by token, over the rows of one
 * sequence. */
#ifndef QR_RECURRENT_WKV_H
#define QR_RECURRENT_WKV_H
#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>

enum { QR_WKV_CHANNELS = 64 }; /* of a work unit */

/* Some channels; pointers are to the first of them, rows of k, v and out `stride` floats apart. The
 * state is a weighted mean of the values so far, as sum of weights times values and sum of weights,
 * both divided by exp(top), the largest weight: exponents stay below 0. */
struct qr_wkv {
    const float *k, *v;
    float *out;
    size_t stride, n_rows;
    const float *decay, *first; /* [n] -exp(time_decay), time_first */
    float *sum, *weight, *top;  /* [n] the state */
    bool fresh;                 /* the sequence starts with these rows */
};

/* out = (exp(first + k) v + sum of weights times values) / (exp(first + k) + sum of weights); then
 * both sums decay by exp(decay) and add the token with weight exp(k). 0 < n <= QR_WKV_CHANNELS. */
void qr_wkv_run(const struct qr_wkv *a, size_t n, const struct qr_kernels *kernels);

#endif
