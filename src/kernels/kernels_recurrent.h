/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_recurrent.h - kernels of recurrent layers: causal convolution, decays, and updates of a
 * state by the tokens of a sequence, in order.
 *
 * A lane is a channel or a value element. Sums over taps or keys are one chain per lane, ascending
 * from 0, so the bits depend neither on the number of tokens nor on the columns of a call.
 * Exponentials below 2^-125 may be 0.
 *
 * States are rows of keys: s[i * state_stride + j] for key element i < n_keys and value element j.
 * Per token:
 *   state_outer     u = dt * v, or v; s = fma(k, u, decay * s); out = sum of q s; if d is not 0,
 *                   out = fma(d, v, out)
 *   state_delta     t = decay * s, the decay of key element i at decay[i * decay_step];
 *                   u = dt * (v - sum of k t); s = fma(k, u, t); out = sum of q s
 *   state_wkv6      out = sum of q s; s = fma(k, v, decay * s); decays of the key elements
 *   state_wkv7      p = sum of read s; s = fma(k, v, fma(remove, p, decay * s)); out = sum of q s;
 *                   decays, read and remove of the key elements
 *   state_channels  s = fma(k, dt * v, exp(dt * rates) * s); out = sum of q s; out = out + d * v;
 *                   dt, d and v of the channel, rates in rows like s
 * With bf16 the elements of s are then rounded to bf16, to nearest even; zeros are positive, and
 * |s| >= 2^111 becomes NaN. */
#ifndef QR_KERNELS_KERNELS_RECURRENT_H
#define QR_KERNELS_KERNELS_RECURRENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of a tile of a state, which one work unit advances: with 128 keys, 32 KiB that stay in L1
 * over all rows of a step. States lie tile by tile, [head][columns / QR_SCAN_COLUMNS][keys][columns
 * of the tile], at every level: in rows of a whole head, a power of two apart, the lines of a tile
 * would compete for a part of L1. Channels of Mamba-1 are columns of one head. */
enum { QR_SCAN_COLUMNS = 64 };

/* A tile or some of its columns, and the rows (tokens) that advance them, at least one. Pointers
 * are to the first row of the sequence and to the first element of the head, or column; rows are
 * `stride` floats apart. */
struct qr_scan {
    /* [n_keys][state_stride]; with bf16 scratch for as many floats */
    float *state;
    uint16_t *bf16; /* NULL, or the state as bf16, in rows like those of `state` */
    size_t state_stride, n_keys, n_values, n_rows;
    bool fresh;                      /* the sequence starts with these rows: the state is 0 */
    const float *q, *k, *v;          /* queries, keys, values; Mamba: C, B, x */
    size_t key_stride, value_stride; /* of rows of q and k; of v */
    const float *decay;              /* per row: one, or n_keys with decay_step 1 */
    size_t decay_stride, decay_step;
    const float *dt; /* outer: step size that multiplies v, or NULL; delta: beta; channels: one per
                      * channel */
    size_t dt_stride;
    float d;                    /* outer: out += d * v */
    const float *read, *remove; /* wkv7: in rows like those of k */
    float *out;
    size_t out_stride;
};

#define QR_KERNELS_RECURRENT(X)                                                                    \
    /* out = bias, then fma(w[j * stride + n], rows[j][n], out) for tap j = 0, 1, ... */           \
    X(void, conv_taps,                                                                             \
      (float *out, const float *const *rows, const float *w, size_t stride, const float *bias,     \
       size_t n_taps, size_t n))                                                                   \
    /* x[n] = log(1 + exp(x + bias)); bias NULL = 0 */                                             \
    X(void, softplus, (float *x, const float *bias, size_t n))                                     \
    /* x[n] = exp(a[n] * x[n]), at most exp(88) */                                                 \
    X(void, exp_mul, (float *x, const float *a, size_t n))                                         \
    /* gate[n] = sigmoid(gate) * a * x; x NULL = 1 */                                              \
    X(void, sigmoid_mul, (float *gate, const float *x, float a, size_t n))                         \
    /* Updates of a state by all rows of s; s->fresh is not read. */                               \
    X(void, state_outer, (const struct qr_scan *s))                                                \
    X(void, state_delta, (const struct qr_scan *s))                                                \
    X(void, state_wkv6, (const struct qr_scan *s))                                                 \
    X(void, state_wkv7, (const struct qr_scan *s))                                                 \
    X(void, state_channels, (const struct qr_scan *s, const float *rates, const float *d))

#endif
