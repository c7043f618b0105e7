/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_tpl.h - kernels of recurrent layers over vec_*.h.
 *
 * Needs a vec_*.h and QR_ISA. The order of all operations is that of generic/recurrent.c; only the
 * elementary functions differ, which come from simd/vec_math.h and have the same bits at every
 * vector level. */
#include "simd/vec_math.h"
#include "template/common_tpl.h"

/* Vectors of a column block: their sums are independent chains, which hide the latency of fma. */
enum { STATE_VECTORS = 4, STATE_COLUMNS = STATE_VECTORS * VF32_N };

/* e^x of x <= 88; NaN stays NaN, since min returns its right operand then */
QR_INLINE vf32 recurrent_exp(vf32 x) { return vf32_exp(vf32_min(vf32_set1(88), x)); }

void QR_KERNEL(conv_taps)(float *out, const float *const *rows, const float *w, size_t stride,
                          const float *bias, size_t n_taps, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32 sum = bias ? vf32_load_n(bias + i, m) : vf32_zero();
        for (size_t j = 0; j < n_taps; j++)
            sum = vf32_fma(vf32_load_n(w + j * stride + i, m), vf32_load_n(rows[j] + i, m), sum);
        vf32_store_n(out + i, sum, m);
    }
}

/* log(1 + u) for 0 <= u <= 1, within 3e-9 before rounding: 2 atanh(u / (u + 2)) */
QR_INLINE vf32 recurrent_log1p(vf32 u)
{
    const vf32 s = vf32_div(u, vf32_add(u, vf32_set1(2))), s2 = vf32_mul(s, s);
    vf32 p = vf32_set1(1.0f / 15);
    p = vf32_fma(p, s2, vf32_set1(1.0f / 13));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 11));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 9));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 7));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 5));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 3));
    p = vf32_fma(p, s2, vf32_set1(1));
    return vf32_mul(vf32_add(s, s), p);
}

void QR_KERNEL(softplus)(float *x, const float *bias, size_t n)
{
    const vi32 magnitude = vi32_set1(INT32_MAX);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32 y = vf32_load_n(x + i, m);
        if (bias)
            y = vf32_add(y, vf32_load_n(bias + i, m));
        const vf32 size = vf32_bits(vi32_and(vi32_bits(y), magnitude));
        const vf32 u = vf32_exp(vf32_sub(vf32_zero(), size));
        vf32_store_n(x + i, vf32_add(vf32_max(vf32_zero(), y), recurrent_log1p(u)), m);
    }
}

void QR_KERNEL(exp_mul)(float *x, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 y = vf32_mul(vf32_load_n(a + i, m), vf32_load_n(x + i, m));
        vf32_store_n(x + i, recurrent_exp(y), m);
    }
}

void QR_KERNEL(sigmoid_mul)(float *gate, const float *x, float a, size_t n)
{
    const vf32 one = vf32_set1(1), va = vf32_set1(a);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 e = recurrent_exp(vf32_sub(vf32_zero(), vf32_load_n(gate + i, m)));
        const vf32 y = vf32_div(va, vf32_add(one, e));
        vf32_store_n(gate + i, vf32_mul(y, x ? vf32_load_n(x + i, m) : one), m);
    }
}

/* ---- States. A column block is STATE_VECTORS whole vectors, or one that may be partial. */

QR_INLINE vf32 state_load(const float *p, size_t m, int whole)
{
    return whole ? vf32_load(p) : vf32_load_n(p, m);
}

QR_INLINE void state_store(float *p, vf32 v, size_t m, int whole)
{
    if (whole)
        vf32_store(p, v);
    else
        vf32_store_n(p, v, m);
}

QR_INLINE void outer_block(float *s, size_t stride, float *out, const float *q, const float *k,
                           const float *v, float decay, size_t n_k, int vectors, size_t m)
{
    const int whole = vectors > 1;
    const vf32 a = vf32_set1(decay);
    vf32 value[STATE_VECTORS], sum[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < vectors; j++) {
        value[j] = state_load(v + j * VF32_N, m, whole);
        sum[j] = vf32_zero();
    }
    for (size_t i = 0; i < n_k; i++, s += stride) {
        const vf32 key = vf32_set1(k[i]), query = vf32_set1(q[i]);
        QR_UNROLL_8 (int j = 0; j < vectors; j++) {
            float *const p = s + j * VF32_N;
            const vf32 x = vf32_fma(key, value[j], vf32_mul(a, state_load(p, m, whole)));
            state_store(p, x, m, whole);
            sum[j] = vf32_fma(query, x, sum[j]);
        }
    }
    QR_UNROLL_8 (int j = 0; j < vectors; j++)
        state_store(out + j * VF32_N, sum[j], m, whole);
}

void QR_KERNEL(state_outer)(float *s, size_t stride, float *out, const float *q, const float *k,
                            const float *v, float decay, size_t n_k, size_t n)
{
    size_t j = 0;
    for (; j + STATE_COLUMNS <= n; j += STATE_COLUMNS)
        outer_block(s + j, stride, out + j, q, k, v + j, decay, n_k, STATE_VECTORS, VF32_N);
    for (; j < n; j += VF32_N)
        outer_block(s + j, stride, out + j, q, k, v + j, decay, n_k, 1,
                    n - j < VF32_N ? n - j : VF32_N);
}

/* Operands of state_delta that are the same for all column blocks. */
struct delta_keys {
    const float *q, *k, *decay;
    size_t decay_step, n_k;
    float beta;
};

QR_INLINE void delta_block(float *s, size_t stride, float *out, const float *v,
                           const struct delta_keys *d, int vectors, size_t m)
{
    const int whole = vectors > 1;
    vf32 u[STATE_VECTORS], sum[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < vectors; j++)
        u[j] = sum[j] = vf32_zero();
    for (size_t i = 0; i < d->n_k; i++) {
        const vf32 key = vf32_set1(d->k[i]), a = vf32_set1(d->decay[i * d->decay_step]);
        QR_UNROLL_8 (int j = 0; j < vectors; j++)
            u[j] =
                vf32_fma(key, vf32_mul(a, state_load(s + i * stride + j * VF32_N, m, whole)), u[j]);
    }
    QR_UNROLL_8 (int j = 0; j < vectors; j++)
        u[j] = vf32_mul(vf32_set1(d->beta), vf32_sub(state_load(v + j * VF32_N, m, whole), u[j]));
    for (size_t i = 0; i < d->n_k; i++) {
        const vf32 key = vf32_set1(d->k[i]), query = vf32_set1(d->q[i]),
                   a = vf32_set1(d->decay[i * d->decay_step]);
        QR_UNROLL_8 (int j = 0; j < vectors; j++) {
            float *const p = s + i * stride + j * VF32_N;
            const vf32 x = vf32_fma(key, u[j], vf32_mul(a, state_load(p, m, whole)));
            state_store(p, x, m, whole);
            sum[j] = vf32_fma(query, x, sum[j]);
        }
    }
    QR_UNROLL_8 (int j = 0; j < vectors; j++)
        state_store(out + j * VF32_N, sum[j], m, whole);
}

void QR_KERNEL(state_delta)(float *s, size_t stride, float *out, const float *q, const float *k,
                            const float *v, const float *decay, size_t decay_step, float beta,
                            size_t n_k, size_t n)
{
    const struct delta_keys d = { q, k, decay, decay_step, n_k, beta };
    size_t j = 0;
    for (; j + STATE_COLUMNS <= n; j += STATE_COLUMNS)
        delta_block(s + j, stride, out + j, v + j, &d, STATE_VECTORS, VF32_N);
    for (; j < n; j += VF32_N)
        delta_block(s + j, stride, out + j, v + j, &d, 1, n - j < VF32_N ? n - j : VF32_N);
}

void QR_KERNEL(state_channels)(float *s, const float *a, size_t stride, float *out, const float *dt,
                               const float *x, const float *b, const float *c, size_t n_k, size_t n)
{
    for (size_t j = 0; j < n; j += VF32_N) {
        const size_t m = n - j < VF32_N ? n - j : VF32_N;
        const vf32 step = vf32_load_n(dt + j, m), in = vf32_mul(step, vf32_load_n(x + j, m));
        vf32 sum = vf32_zero();
        for (size_t i = 0; i < n_k; i++) {
            float *const p = s + i * stride + j;
            const vf32 rate = vf32_load_n(a + i * stride + j, m);
            const vf32 old = vf32_mul(recurrent_exp(vf32_mul(step, rate)), vf32_load_n(p, m));
            const vf32 y = vf32_fma(vf32_set1(b[i]), in, old);
            vf32_store_n(p, y, m);
            sum = vf32_fma(vf32_set1(c[i]), y, sum);
        }
        vf32_store_n(out + j, sum, m);
    }
}

void QR_KERNEL(init_recurrent)(struct qr_kernels *k)
{
    QR_SET(k, conv_taps);
    QR_SET(k, softplus);
    QR_SET(k, exp_mul);
    QR_SET(k, sigmoid_mul);
    QR_SET(k, state_outer);
    QR_SET(k, state_delta);
    QR_SET(k, state_channels);
}
