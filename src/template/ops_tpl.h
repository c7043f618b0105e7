/* SPDX-License-Identifier: Apache-2.0 */
/* ops_tpl.h - row-wise kernels over vec_*.h.
 *
 * Needs a vec_*.h, QR_ISA, and with QUIRE_WITH_SLEEF the SLEEF functions OPS_EXP, OPS_TANH, OPS_ERF
 * of this level. The order of the sums is that of generic/ops.c, bit for bit. */
#include "simd/exp64.h"
#include "template/common_tpl.h"
#include "template/lora_tpl.h"
#include <math.h>

enum { OPS_ACCS = 16 / VF32_N };

static inline float ops_tree_sum(const vf32 acc[OPS_ACCS])
{
    float s[16];
    for (int a = 0; a < OPS_ACCS; a++)
        vf32_store(s + a * VF32_N, acc[a]);
    for (int w = 8; w > 0; w /= 2)
        for (int i = 0; i < w; i++)
            s[i] += s[i + w];
    return s[0];
}

/* Lanes of the tail past the end hold `shift`, so they add 0. */
static inline float ops_sum_of_squares(const float *x, float shift, size_t n)
{
    vf32 acc[OPS_ACCS];
    const vf32 vs = vf32_set1(shift);
    for (int a = 0; a < OPS_ACCS; a++)
        acc[a] = vf32_zero();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int a = 0; a < OPS_ACCS; a++) {
            const vf32 d = vf32_sub(vf32_load(x + i + (size_t)(a * VF32_N)), vs);
            acc[a] = vf32_fma(d, d, acc[a]);
        }
    float tail[16];
    for (size_t j = 0; j < 16; j++)
        tail[j] = i + j < n ? x[i + j] : shift;
    for (int a = 0; a < OPS_ACCS; a++) {
        const vf32 d = vf32_sub(vf32_load(tail + a * VF32_N), vs);
        acc[a] = vf32_fma(d, d, acc[a]);
    }
    return ops_tree_sum(acc);
}

static inline float ops_sum(const float *x, size_t n)
{
    vf32 acc[OPS_ACCS];
    for (int a = 0; a < OPS_ACCS; a++)
        acc[a] = vf32_zero();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int a = 0; a < OPS_ACCS; a++)
            acc[a] = vf32_add(acc[a], vf32_load(x + i + (size_t)(a * VF32_N)));
    float tail[16] = { 0 };
    for (size_t j = 0; i + j < n; j++)
        tail[j] = x[i + j];
    for (int a = 0; a < OPS_ACCS; a++)
        acc[a] = vf32_add(acc[a], vf32_load(tail + a * VF32_N));
    return ops_tree_sum(acc);
}

void QR_KERNEL(rms_norm)(float *out, const float *x, const float *w, float w_add, float eps,
                         size_t n)
{
    const vf32 scale = vf32_set1(1 / sqrtf(ops_sum_of_squares(x, 0, n) / (float)n + eps)),
               add = vf32_set1(w_add);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32 v = vf32_mul(vf32_load_n(x + i, m), scale);
        if (w)
            v = vf32_mul(v, vf32_add(vf32_load_n(w + i, m), add));
        vf32_store_n(out + i, v, m);
    }
}

void QR_KERNEL(layer_norm)(float *out, const float *x, const float *w, const float *b, float w_add,
                           float eps, size_t n)
{
    const float mean = ops_sum(x, n) / (float)n;
    const vf32 scale = vf32_set1(1 / sqrtf(ops_sum_of_squares(x, mean, n) / (float)n + eps)),
               vm = vf32_set1(mean);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 v = vf32_mul(vf32_sub(vf32_load_n(x + i, m), vm), scale);
        const vf32 g = w ? vf32_add(vf32_load_n(w + i, m), vf32_set1(w_add)) : vf32_set1(1);
        vf32_store_n(out + i, vf32_fma(v, g, b ? vf32_load_n(b + i, m) : vf32_zero()), m);
    }
}

void QR_KERNEL(axpy)(float *y, float a, const float *x, size_t n)
{
    const vf32 va = vf32_set1(a);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32_store_n(y + i, vf32_fma(va, vf32_load_n(x + i, m), vf32_load_n(y + i, m)), m);
    }
}

void QR_KERNEL(scale)(float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32_store_n(x + i, vf32_mul(vf32_load_n(x + i, m), vf32_set1(a)), m);
    }
}

void QR_KERNEL(add)(float *x, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32_store_n(x + i, vf32_add(vf32_load_n(x + i, m), vf32_load_n(b + i, m)), m);
    }
}

static inline void ops_rotate(float *a, float *b, float c, float s)
{
    const float a0 = *a, b0 = *b;
    *a = fmaf(-b0, s, a0 * c);
    *b = fmaf(b0, c, a0 * s);
}

void QR_KERNEL(rope)(float *x, const float *c, const float *s, size_t n, int half)
{
    const size_t h = n / 2;
    if (!half) {
        for (size_t i = 0; i < h; i++)
            ops_rotate(&x[2 * i], &x[2 * i + 1], c[i], s[i]);
        return;
    }
    for (size_t i = 0; i < h; i += VF32_N) {
        const size_t m = h - i < VF32_N ? h - i : VF32_N;
        const vf32 a = vf32_load_n(x + i, m), b = vf32_load_n(x + h + i, m);
        const vf32 vc = vf32_load_n(c + i, m), vs = vf32_load_n(s + i, m);
        vf32_store_n(x + i, vf32_fnma(b, vs, vf32_mul(a, vc)), m);
        vf32_store_n(x + h + i, vf32_fma(b, vc, vf32_mul(a, vs)), m);
    }
}

#ifdef QUIRE_WITH_SLEEF
static inline vf32 ops_up(const float *up, size_t i, size_t m)
{
    return up ? vf32_load_n(up + i, m) : vf32_set1(1);
}

void QR_KERNEL(silu_mul)(float *gate, const float *up, size_t n)
{
    const vf32 one = vf32_set1(1);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 x = vf32_load_n(gate + i, m);
        const vf32 y = vf32_div(x, vf32_add(one, OPS_EXP(vf32_sub(vf32_zero(), x))));
        vf32_store_n(gate + i, vf32_mul(y, ops_up(up, i, m)), m);
    }
}

void QR_KERNEL(gelu_tanh_mul)(float *gate, const float *up, size_t n)
{
    const vf32 one = vf32_set1(1), half = vf32_set1(0.5f),
               root = vf32_set1(0.79788456080286536f); /* sqrt(2/pi) */
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 x = vf32_load_n(gate + i, m),
                   cx = vf32_mul(vf32_mul(vf32_set1(0.044715f), x), x);
        const vf32 t = OPS_TANH(vf32_mul(root, vf32_fma(cx, x, x)));
        vf32_store_n(gate + i,
                     vf32_mul(vf32_mul(vf32_mul(half, x), vf32_add(one, t)), ops_up(up, i, m)), m);
    }
}

void QR_KERNEL(gelu_erf_mul)(float *gate, const float *up, size_t n)
{
    const vf32 one = vf32_set1(1), half = vf32_set1(0.5f), root = vf32_set1(0.70710678118654752f);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 x = vf32_load_n(gate + i, m), t = OPS_ERF(vf32_mul(x, root));
        vf32_store_n(gate + i,
                     vf32_mul(vf32_mul(vf32_mul(half, x), vf32_add(one, t)), ops_up(up, i, m)), m);
    }
}

void QR_KERNEL(soft_cap)(float *x, float cap, size_t n)
{
    const vf32 c = vf32_set1(cap);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32_store_n(x + i, vf32_mul(c, OPS_TANH(vf32_div(vf32_load_n(x + i, m), c))), m);
    }
}
#endif

/* Words without an excluded token, which are most of them inside strings, are not touched. */
void QR_KERNEL(mask_logits)(float *x, const uint32_t *mask, size_t n)
{
    const vf32 excluded = vf32_set1(-INFINITY);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const uint32_t bits = mask[i / 32];
        if (bits == UINT32_MAX)
            continue;
        for (size_t at = 0; at < 32; at += VF32_N)
            vf32_store(x + i + at,
                       vf32_select(vm32_bits(bits >> at), vf32_load(x + i + at), excluded));
    }
    for (size_t at = 0; i + at < n; at += VF32_N) {
        const size_t m = n - i - at < VF32_N ? n - i - at : VF32_N;
        const vm32 keep = vm32_bits(mask[i / 32] >> at);
        vf32_store_n(x + i + at, vf32_select(keep, vf32_load_n(x + i + at, m), excluded), m);
    }
}

/* The larger of each lane, and +infinity where x is NaN. */
static inline vf32 ops_larger(vf32 max, vf32 x)
{
    const vf32 infinity = vf32_set1(INFINITY);
    return vf32_max(max, vf32_select(vf32_lt(x, infinity), x, infinity));
}

float QR_KERNEL(largest)(const float *x, size_t n)
{
    vf32 a = vf32_set1(-INFINITY), b = a;
    size_t i = 0;
    for (; i + 2 * VF32_N <= n; i += 2 * VF32_N) {
        a = ops_larger(a, vf32_load(x + i));
        b = ops_larger(b, vf32_load(x + i + VF32_N));
    }
    float max = vf32_top(vf32_max(a, b));
    for (; i < n; i++)
        max = !(x[i] < INFINITY) ? INFINITY : x[i] > max ? x[i] : max;
    return max;
}

static inline vf64 ops_exp64(vf64 x)
{
    static const double terms[EXP64_N_TERMS] = { EXP64_TERMS };
    const vf64 magic = vf64_set1(EXP64_MAGIC);
    const vf64 t = vf64_add(vf64_mul(x, vf64_set1(EXP64_LOG2E)), magic), k = vf64_sub(t, magic);
    const vf64 r = vf64_sub(vf64_sub(x, vf64_mul(k, vf64_set1(EXP64_LN2_HIGH))),
                            vf64_mul(k, vf64_set1(EXP64_LN2_LOW)));
    vf64 y = vf64_set1(terms[0]);
    QR_UNROLL_16 (int i = 1; i < EXP64_N_TERMS; i++)
        y = vf64_add(vf64_mul(y, r), vf64_set1(terms[i]));
    return vf64_zero_below(vf64_mul(y, vf64_power_of_2(t)), x, vf64_set1(EXP64_LEAST));
}

double QR_KERNEL(exp_sum)(const float *x, size_t n, double max, double temperature)
{
    enum { VECTORS = EXP64_LANES / VF32_N }; /* of f32; each is two of f64 */
    const vf64 m = vf64_set1(max), divisor = vf64_set1(temperature);
    double lanes[EXP64_LANES];
    vf64 sum[2 * VECTORS];
    size_t i = 0;
    QR_UNROLL_16 (int v = 0; v < 2 * VECTORS; v++)
        sum[v] = vf64_set1(0);
    for (; i + EXP64_LANES <= n; i += EXP64_LANES)
        QR_UNROLL_16 (int v = 0; v < VECTORS; v++) {
            const vf32 logits = vf32_load(x + i + v * VF32_N);
            vf64 a = vf64_sub(vf64_low(logits), m), b = vf64_sub(vf64_high(logits), m);
            if (temperature != 1) {
                a = vf64_div(a, divisor);
                b = vf64_div(b, divisor);
            }
            sum[2 * v] = vf64_add(sum[2 * v], ops_exp64(a));
            sum[2 * v + 1] = vf64_add(sum[2 * v + 1], ops_exp64(b));
        }
    QR_UNROLL_16 (int v = 0; v < 2 * VECTORS; v++)
        vf64_store(lanes + v * (VF32_N / 2), sum[v]);
    return exp64_finish(lanes, x + i, n - i, max, temperature);
}

void QR_KERNEL(init_ops)(struct qr_kernels *k)
{
    QR_SET(k, rms_norm);
    QR_SET(k, layer_norm);
    QR_SET(k, axpy);
    QR_SET(k, scale);
    QR_SET(k, add);
    QR_SET(k, rope);
    QR_SET(k, mask_logits);
    QR_SET(k, largest);
    QR_SET(k, exp_sum);
    QR_SET(k, lora);
#ifdef QUIRE_WITH_SLEEF
    QR_SET(k, silu_mul);
    QR_SET(k, gelu_tanh_mul);
    QR_SET(k, gelu_erf_mul);
    QR_SET(k, soft_cap);
#endif
}
