/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - kernels of recurrent layers in plain C: the reference of the vector levels. */
#include "base/half.h"
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

/* x, or with bf16 the nearest bf16: the operations of template/recurrent_tpl.h. */
static float state_round(float x, const struct qr_scan *s)
{
    if (!s->bf16)
        return x;
    const float power = qr_bits_to_f32(qr_f32_to_bits(x) & 0x7f800000);
    const float large = (power > 0x1p-126f ? power : 0x1p-126f) * 0x1.8p16f;
    return (x + large) - large;
}

static void outer_row(const struct qr_scan *a, size_t r)
{
    const float *q = a->q + r * a->key_stride, *k = a->k + r * a->key_stride;
    const float *v = a->v + r * a->value_stride, decay = a->decay[r * a->decay_stride];
    const float step = a->dt ? a->dt[r * a->dt_stride] : 1;
    float *s = a->state, *out = a->out + r * a->out_stride;
    for (size_t j = 0; j < a->n_values; j++)
        out[j] = 0;
    for (size_t i = 0; i < a->n_keys; i++, s += a->state_stride)
        for (size_t j = 0; j < a->n_values; j++) {
            const float x = qr_fmaf(k[i], step * v[j], decay * s[j]);
            out[j] = qr_fmaf(q[i], x, out[j]);
            s[j] = state_round(x, a);
        }
    for (size_t j = 0; a->d != 0 && j < a->n_values; j++)
        out[j] = qr_fmaf(a->d, v[j], out[j]);
}

/* Copies a bf16 state to the scratch, and back. */
static void load_bf16(const struct qr_scan *s)
{
    for (size_t i = 0; s->bf16 && i < s->n_keys; i++)
        for (size_t j = 0; j < s->n_values; j++)
            s->state[i * s->state_stride + j] = qr_bf16_to_f32(s->bf16[i * s->state_stride + j]);
}

static void store_bf16(const struct qr_scan *s)
{
    for (size_t i = 0; s->bf16 && i < s->n_keys; i++)
        for (size_t j = 0; j < s->n_values; j++)
            s->bf16[i * s->state_stride + j] = qr_f32_to_bf16(s->state[i * s->state_stride + j]);
}

void qr_state_outer_generic(const struct qr_scan *s)
{
    load_bf16(s);
    for (size_t r = 0; r < s->n_rows; r++)
        outer_row(s, r);
    store_bf16(s);
}

static void delta_row(const struct qr_scan *s, size_t r)
{
    const float *q = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const float *v = s->v + r * s->value_stride, *decay = s->decay + r * s->decay_stride;
    for (size_t j = 0; j < s->n_values; j++) {
        float *column = s->state + j, read = 0, sum = 0;
        for (size_t i = 0; i < s->n_keys; i++)
            read = qr_fmaf(k[i], decay[i * s->decay_step] * column[i * s->state_stride], read);
        const float u = s->dt[r * s->dt_stride] * (v[j] - read);
        for (size_t i = 0; i < s->n_keys; i++) {
            float *const at = column + i * s->state_stride;
            const float x = qr_fmaf(k[i], u, decay[i * s->decay_step] * *at);
            sum = qr_fmaf(q[i], x, sum);
            *at = state_round(x, s);
        }
        s->out[r * s->out_stride + j] = sum;
    }
}

void qr_state_delta_generic(const struct qr_scan *s)
{
    load_bf16(s);
    for (size_t r = 0; r < s->n_rows; r++)
        delta_row(s, r);
    store_bf16(s);
}

static void wkv6_row(const struct qr_scan *s, size_t r)
{
    const float *q = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const float *v = s->v + r * s->value_stride, *decay = s->decay + r * s->decay_stride;
    for (size_t j = 0; j < s->n_values; j++) {
        float sum = 0;
        for (size_t i = 0; i < s->n_keys; i++) {
            float *const x = s->state + i * s->state_stride + j;
            sum = qr_fmaf(q[i], *x, sum);
            *x = state_round(qr_fmaf(k[i], v[j], decay[i] * *x), s);
        }
        s->out[r * s->out_stride + j] = sum;
    }
}

void qr_state_wkv6_generic(const struct qr_scan *s)
{
    load_bf16(s);
    for (size_t r = 0; r < s->n_rows; r++)
        wkv6_row(s, r);
    store_bf16(s);
}

static void wkv7_row(const struct qr_scan *s, size_t r)
{
    const size_t at = r * s->key_stride;
    const float *q = s->q + at, *k = s->k + at, *read = s->read + at, *remove = s->remove + at;
    const float *v = s->v + r * s->value_stride, *decay = s->decay + r * s->decay_stride;
    for (size_t j = 0; j < s->n_values; j++) {
        float *column = s->state + j, p = 0, sum = 0;
        for (size_t i = 0; i < s->n_keys; i++)
            p = qr_fmaf(read[i], column[i * s->state_stride], p);
        for (size_t i = 0; i < s->n_keys; i++) {
            float *const x_at = column + i * s->state_stride;
            const float x = qr_fmaf(k[i], v[j], qr_fmaf(remove[i], p, decay[i] * *x_at));
            sum = qr_fmaf(q[i], x, sum);
            *x_at = state_round(x, s);
        }
        s->out[r * s->out_stride + j] = sum;
    }
}

void qr_state_wkv7_generic(const struct qr_scan *s)
{
    load_bf16(s);
    for (size_t r = 0; r < s->n_rows; r++)
        wkv7_row(s, r);
    store_bf16(s);
}

static void channels_row(const struct qr_scan *a, const float *rates, const float *d, size_t r)
{
    const float *c = a->q + r * a->key_stride, *b = a->k + r * a->key_stride;
    const float *x = a->v + r * a->value_stride, *dt = a->dt + r * a->dt_stride;
    float *s = a->state, *out = a->out + r * a->out_stride;
    for (size_t j = 0; j < a->n_values; j++)
        out[j] = 0;
    for (size_t i = 0; i < a->n_keys; i++, s += a->state_stride, rates += a->state_stride)
        for (size_t j = 0; j < a->n_values; j++) {
            const float y = dt[j] * rates[j];
            const float next = qr_fmaf(b[i], dt[j] * x[j], expf(y > 88 ? 88 : y) * s[j]);
            out[j] = qr_fmaf(c[i], next, out[j]);
            s[j] = state_round(next, a);
        }
    for (size_t j = 0; j < a->n_values; j++)
        out[j] += d[j] * x[j];
}

void qr_state_channels_generic(const struct qr_scan *s, const float *rates, const float *d)
{
    load_bf16(s);
    for (size_t r = 0; r < s->n_rows; r++)
        channels_row(s, rates, d, r);
    store_bf16(s);
}

void qr_init_recurrent_generic(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, conv_taps, generic);
    QR_SET_KERNEL(k, softplus, generic);
    QR_SET_KERNEL(k, exp_mul, generic);
    QR_SET_KERNEL(k, sigmoid_mul, generic);
    QR_SET_KERNEL(k, state_outer, generic);
    QR_SET_KERNEL(k, state_delta, generic);
    QR_SET_KERNEL(k, state_wkv6, generic);
    QR_SET_KERNEL(k, state_wkv7, generic);
    QR_SET_KERNEL(k, state_channels, generic);
}
