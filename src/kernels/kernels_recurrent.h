/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_recurrent.h - kernels of recurrent layers: causal convolution, decays, and one token's
 * update of a state.
 *
 * A lane is a channel or a value element. Sums over taps or keys are one chain per lane, ascending
 * from 0, so the bits depend neither on the number of tokens nor on the columns of a call.
 * Exponentials below 2^-125 may be 0.
 *
 * States are rows of keys: s[i * stride + j] for key element i < n_k and value element j < n.
 *   state_delta     t = decay * s, the decay of key element i at decay[i * decay_step];
 *                   u = beta * (v - sum of k t); s = fma(k, u, t); out = sum of q s
 *   state_channels  s = fma(b, dt * x, exp(dt * a) * s), a in rows like s, b and c of the key
 *                   element, dt and x of the channel; out = sum of c s */
#ifndef QR_KERNELS_KERNELS_RECURRENT_H
#define QR_KERNELS_KERNELS_RECURRENT_H
#include <stddef.h>

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
    /* s = fma(k, v, decay * s); out[n] = sum of q s */                                            \
    X(void, state_outer,                                                                           \
      (float *s, size_t stride, float *out, const float *q, const float *k, const float *v,        \
       float decay, size_t n_k, size_t n))                                                         \
    X(void, state_delta,                                                                           \
      (float *s, size_t stride, float *out, const float *q, const float *k, const float *v,        \
       const float *decay, size_t decay_step, float beta, size_t n_k, size_t n))                   \
    X(void, state_channels,                                                                        \
      (float *s, const float *a, size_t stride, float *out, const float *dt, const float *x,       \
       const float *b, const float *c, size_t n_k, size_t n))

#endif
