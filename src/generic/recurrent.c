/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers in plain C: the reference of the vector levels. */
#include "generic/fma.h"
#include "kernels/kernels.h"
#include <math.h>

void qr_conv_taps_generic(float *out, const float *const *rows, const float *w, size_t stride,
                          const float *bias, size_t n_taps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = bias ? bias[i] : 0;
    for (size_t j = 0; j < n_taps; j++)
        for (size_t i = 0; i < n; i++)
            out[i] = qr_fmaf(w[j * stride + i], rows[j][i], out[i]);
}

void qr_softplus_generic(float *x, const float *bias, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float y = x[i] + (bias ? bias[i] : 0);
        x[i] = (y < 0 ? 0 : y) + log1pf(expf(-fabsf(y)));
    }
}

void qr_exp_mul_generic(float *x, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float y = a[i] * x[i];
        x[i] = expf(y > 88 ? 88 : y);
    }
}

void qr_sigmoid_mul_generic(float *gate, const float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = a / (1 + expf(-gate[i])) * (x ? x[i] : 1);
}

void qr_state_outer_generic(float *s, size_t stride, float *out, const float *q, const float *k,
                            const float *v, float decay, size_t n_k, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] = 0;
    for (size_t i = 0; i < n_k; i++, s += stride)
        for (size_t j = 0; j < n; j++) {
            s[j] = qr_fmaf(k[i], v[j], decay * s[j]);
            out[j] = qr_fmaf(q[i], s[j], out[j]);
        }
}

void qr_state_delta_generic(float *s, size_t stride, float *out, const float *q, const float *k,
                            const float *v, const float *decay, size_t decay_step, float beta,
                            size_t n_k, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        float *column = s + j, read = 0, sum = 0;
        for (size_t i = 0; i < n_k; i++)
            read = qr_fmaf(k[i], decay[i * decay_step] * column[i * stride], read);
        const float u = beta * (v[j] - read);
        for (size_t i = 0; i < n_k; i++) {
            float *const x = column + i * stride;
            *x = qr_fmaf(k[i], u, decay[i * decay_step] * *x);
            sum = qr_fmaf(q[i], *x, sum);
        }
        out[j] = sum;
    }
}

void qr_state_channels_generic(float *s, const float *a, size_t stride, float *out, const float *dt,
                               const float *x, const float *b, const float *c, size_t n_k, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] = 0;
    for (size_t i = 0; i < n_k; i++, s += stride, a += stride)
        for (size_t j = 0; j < n; j++) {
            const float y = dt[j] * a[j];
            s[j] = qr_fmaf(b[i], dt[j] * x[j], expf(y > 88 ? 88 : y) * s[j]);
            out[j] = qr_fmaf(c[i], s[j], out[j]);
        }
}

void qr_init_recurrent_generic(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, conv_taps, generic);
    QR_SET_KERNEL(k, softplus, generic);
    QR_SET_KERNEL(k, exp_mul, generic);
    QR_SET_KERNEL(k, sigmoid_mul, generic);
    QR_SET_KERNEL(k, state_outer, generic);
    QR_SET_KERNEL(k, state_delta, generic);
    QR_SET_KERNEL(k, state_channels, generic);
}
