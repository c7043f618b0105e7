/* SPDX-License-Identifier: Apache-2.0 */
/* check_ops.c - oracles in double for norms, activations, RoPE and residual arithmetic. */
#include "kerncheck.h"
#include <math.h>
#include <string.h>

enum { MAX_N = 777 };
static const int sizes[] = { 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 256, 300, MAX_N };

static size_t pick_size(struct kc_env *env, int round)
{
    const int n = (int)(sizeof sizes / sizeof sizes[0]);
    return (size_t)(round < n ? sizes[round] : kc_int(env, 1, MAX_N));
}

/* |got - want| <= tol * (|want| + floor) */
static bool close_to(struct kc_env *env, const char *what, size_t i, size_t n, double got,
                     double want, double tol, double floor_)
{
    const double ratio = fabs(got - want) / (tol * (fabs(want) + floor_));
    if (ratio > env->worst)
        env->worst = ratio;
    if (ratio <= 1)
        return true;
    kc_fail(env, "%s: n %zu, element %zu: %.9g instead of %.9g", what, n, i, got, want);
    return false;
}

typedef void norm_case(struct kc_env *env, kc_fn fn, size_t n);

static void rms_case(struct kc_env *env, kc_fn fn, size_t n)
{
    void (*kernel)(float *, const float *, const float *, float, float, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    float *x = kc_buffer_end(n * 4), *w = kc_buffer_end(n * 4), *out = kc_buffer_end(n * 4);
    kc_fill_normal(env, x, n, kc_uniform(env, 0.01f, 30));
    kc_fill_normal(env, w, n, 1);
    const bool with_w = kc_int(env, 0, 3) > 0;
    const float add = (float)kc_int(env, 0, 1), eps = 1e-5f;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    const double scale = 1 / sqrt(sum / (double)n + eps);
    kernel(out, x, with_w ? w : NULL, add, eps, n);
    for (size_t i = 0; i < n; i++)
        if (!close_to(env, "rms_norm", i, n, out[i],
                      x[i] * scale * (with_w ? (double)w[i] + add : 1), 1e-6, 1e-6))
            return;
    if (!kc_intact(out))
        kc_fail(env, "wrote outside out, n %zu", n);
}

static void layer_case(struct kc_env *env, kc_fn fn, size_t n)
{
    void (*kernel)(float *, const float *, const float *, const float *, float, float, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    float *x = kc_buffer_end(n * 4), *w = kc_buffer_end(n * 4), *b = kc_buffer_end(n * 4),
          *out = kc_buffer_end(n * 4);
    kc_fill_normal(env, x, n, 3);
    kc_fill_normal(env, w, n, 1);
    kc_fill_normal(env, b, n, 1);
    const bool with_w = kc_int(env, 0, 3) > 0, with_b = kc_int(env, 0, 1);
    const float eps = 1e-5f;
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean) / (double)n;
    kernel(out, x, with_w ? w : NULL, with_b ? b : NULL, 0, eps, n);
    for (size_t i = 0; i < n; i++) {
        const double want =
            (x[i] - mean) / sqrt(var + eps) * (with_w ? w[i] : 1) + (with_b ? b[i] : 0);
        if (n > 1 && !close_to(env, "layer_norm", i, n, out[i], want, 4e-6, 4))
            return;
    }
}

static void run_sizes(struct kc_env *env, kc_fn fn, norm_case *one)
{
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        one(env, fn, pick_size(env, r));
        kc_release();
    }
}

static void check_rms_norm(struct kc_env *env, kc_fn fn) { run_sizes(env, fn, rms_case); }
static void check_layer_norm(struct kc_env *env, kc_fn fn) { run_sizes(env, fn, layer_case); }

static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double gelu_erf(double x) { return 0.5 * x * (1 + erf(x * 0.7071067811865476)); }

static void check_activation(struct kc_env *env, kc_fn fn, double (*oracle)(double))
{
    void (*kernel)(float *, const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    static const float extremes[] = { 0, -0.0f, 1e-30f, -1e-30f, 88, -88, 1e30f, 20, -20 };
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        float *g = kc_buffer_end(n * 4), *u = kc_buffer_end(n * 4), g0[MAX_N];
        kc_fill_normal(env, g, n, 4);
        kc_fill_normal(env, u, n, 2);
        for (size_t i = 0; i < n && r % 3 == 0; i++)
            g[i] = i < 9 ? extremes[i] : g[i];
        memcpy(g0, g, n * 4);
        const bool with_up = r % 2;
        kernel(g, with_up ? u : NULL, n);
        /* 1 + tanh(x) cancels for x << 0: the floor is in units of |x * up| */
        for (size_t i = 0; i < n; i++)
            if (!close_to(env, "activation", i, n, g[i], oracle(g0[i]) * (with_up ? u[i] : 1), 2e-6,
                          0.1 * fabs((double)g0[i] * (with_up ? u[i] : 1)) + 1e-30))
                return;
        kc_release();
    }
}

static void check_silu(struct kc_env *env, kc_fn fn) { check_activation(env, fn, silu); }
static void check_gelu_tanh(struct kc_env *env, kc_fn fn) { check_activation(env, fn, gelu_tanh); }
static void check_gelu_erf(struct kc_env *env, kc_fn fn) { check_activation(env, fn, gelu_erf); }

static void check_axpy(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, float, const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        float *y = kc_buffer_end(n * 4), *x = kc_buffer_begin(n * 4), y0[MAX_N];
        kc_fill_normal(env, y, n, 1);
        kc_fill_normal(env, x, n, 1);
        memcpy(y0, y, n * 4);
        const float a = kc_normal(env);
        kernel(y, a, x, n);
        for (size_t i = 0; i < n; i++)
            if (y[i] != fmaf(a, x[i], y0[i]))
                kc_fail(env, "n %zu, element %zu", n, i);
        if (!kc_intact(y))
            kc_fail(env, "wrote outside y, n %zu", n);
        kc_release();
    }
}

static void check_scale(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, float, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        float *x = kc_buffer_end(n * 4), x0[MAX_N];
        kc_fill_normal(env, x, n, 1);
        memcpy(x0, x, n * 4);
        kernel(x, 0.3f, n);
        for (size_t i = 0; i < n; i++)
            if (x[i] != x0[i] * 0.3f)
                kc_fail(env, "n %zu, element %zu", n, i);
        kc_release();
    }
}

static void check_add(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        float *x = kc_buffer_end(n * 4), *b = kc_buffer_end(n * 4), x0[MAX_N];
        kc_fill_normal(env, x, n, 1);
        kc_fill_normal(env, b, n, 1);
        memcpy(x0, x, n * 4);
        kernel(x, b, n);
        for (size_t i = 0; i < n; i++)
            if (x[i] != x0[i] + b[i])
                kc_fail(env, "n %zu, element %zu", n, i);
        kc_release();
    }
}

static void check_soft_cap(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, float, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        const float cap = kc_uniform(env, 0.5f, 50);
        float *x = kc_buffer_end(n * 4), x0[MAX_N];
        kc_fill_normal(env, x, n, r % 4 ? 30 : 1e20f);
        memcpy(x0, x, n * 4);
        kernel(x, cap, n);
        for (size_t i = 0; i < n; i++)
            if (!close_to(env, "soft_cap", i, n, x[i], cap * tanh((double)x0[i] / cap), 1e-6,
                          1e-30))
                return;
        kc_release();
    }
}

static void check_rope(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, const float *, size_t, int);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = 2 * (size_t)kc_int(env, 1, 130), h = n / 2;
        const int half = r % 2;
        float *x = kc_buffer_end(n * 4), *c = kc_buffer_end(h * 4), *s = kc_buffer_end(h * 4),
              x0[300];
        kc_fill_normal(env, x, n, 1);
        kc_fill_normal(env, c, h, 1);
        kc_fill_normal(env, s, h, 1);
        memcpy(x0, x, n * 4);
        kernel(x, c, s, n, half);
        for (size_t i = 0; i < h; i++) {
            const size_t ia = half ? i : 2 * i, ib = half ? i + h : 2 * i + 1;
            const double a = x0[ia], b = x0[ib], size = fabs(a) + fabs(b);
            if (!close_to(env, "rope", ia, n, x[ia], a * c[i] - b * s[i], 3e-7,
                          size * (fabs((double)c[i]) + fabs((double)s[i]))) ||
                !close_to(env, "rope", ib, n, x[ib], b * c[i] + a * s[i], 3e-7,
                          size * (fabs((double)c[i]) + fabs((double)s[i]))))
                return;
        }
        if (!kc_intact(x))
            kc_fail(env, "wrote outside x, n %zu", n);
        kc_release();
    }
}

/* Random bits, with whole words of ones and zeros; NaN and infinities stay as they are. */
static void check_mask_logits(struct kc_env *env, kc_fn fn)
{
    static const uint32_t specials[] = { 0x7fc12345, 0xff812345, 0x7f800000, 0xff800000, 1 };
    void (*kernel)(float *, const uint32_t *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r), words = (n + 31) / 32;
        float *x = kc_buffer_end(n * 4), x0[MAX_N];
        uint32_t *mask = kc_buffer_end(words * 4);
        kc_fill_normal(env, x, n, 5);
        for (size_t i = 0; i < n; i++)
            if (kc_int(env, 0, 9) == 0)
                memcpy(&x[i], &specials[kc_int(env, 0, 4)], 4);
        for (size_t i = 0; i < n && i < MAX_N; i++)
            memcpy(&x0[i], &x[i], 4);
        for (size_t w = 0; w < words; w++) {
            const int kind = kc_int(env, 0, 3);
            mask[w] = kind == 0 ? 0 : kind == 1 ? UINT32_MAX : 0;
            for (int b = 0; b < 32 && kind > 1; b++)
                mask[w] |= (uint32_t)kc_int(env, 0, 1) << b;
        }
        kernel(x, mask, n);
        for (size_t i = 0; i < n; i++) {
            const float minus_infinity = -INFINITY;
            const bool keeps = mask[i / 32] & (uint32_t)1 << i % 32;
            if (memcmp(&x[i], keeps ? &x0[i] : &minus_infinity, 4) != 0)
                kc_fail(env, "n %zu, element %zu, bit %d", n, i, keeps);
        }
        if (!kc_intact(x))
            kc_fail(env, "wrote outside x, n %zu", n);
        kc_release();
    }
}

static void check_largest(struct kc_env *env, kc_fn fn)
{
    static const float specials[] = { NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f };
    float (*kernel)(const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        float *x = kc_buffer_end(n * 4), expected = -INFINITY;
        kc_fill_normal(env, x, n, 5);
        for (int k = kc_int(env, 0, 2); k > 0; k--) /* one special value, as often as not */
            x[kc_int(env, 0, (int)n - 1)] = specials[kc_int(env, 0, 5)];
        if (kc_int(env, 0, 9) == 0)
            for (size_t i = 0; i < n; i++)
                x[i] = -INFINITY;
        for (size_t i = 0; i < n; i++)
            expected = isnan(x[i]) ? INFINITY : fmaxf(expected, x[i]);
        const float found = kernel(x, n);
        if (found != expected)
            kc_fail(env, "n %zu: %g instead of %g", n, (double)found, (double)expected);
        kc_release();
    }
}

static void check_exp_sum(struct kc_env *env, kc_fn fn)
{
    double (*kernel)(const float *, size_t, double, double);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = pick_size(env, r);
        const double temperature = pow(10, kc_int(env, -2, 2));
        float *x = kc_buffer_end(n * 4), max = -INFINITY;
        kc_fill_normal(env, x, n, 5);
        if (kc_int(env, 0, 1))
            x[kc_int(env, 0, (int)n - 1)] = kc_int(env, 0, 1) ? -INFINITY : -3e38f;
        for (size_t i = 0; i < n; i++)
            max = fmaxf(max, x[i]);
        if (max == -INFINITY)
            max = 0;
        double expected = 0;
        for (size_t i = 0; i < n; i++)
            expected += exp(((double)x[i] - (double)max) / temperature);
        const double found = kernel(x, n, (double)max, temperature),
                     generic = qr_exp_sum_generic(x, n, (double)max, temperature);
        if (found != generic)
            kc_fail(env, "n %zu, temperature %g: %a, but generic %a", n, temperature, found,
                    generic);
        if (!(fabs(found - expected) <= 1e-13 * expected))
            kc_fail(env, "n %zu, temperature %g: %.17g instead of %.17g", n, temperature, found,
                    expected);
        kc_release();
    }
}

const struct kc_checker kc_checkers_ops[] = {
    { "rms_norm", check_rms_norm },
    { "layer_norm", check_layer_norm },
    { "silu_mul", check_silu },
    { "gelu_tanh_mul", check_gelu_tanh },
    { "gelu_erf_mul", check_gelu_erf },
    { "axpy", check_axpy },
    { "scale", check_scale },
    { "add", check_add },
    { "soft_cap", check_soft_cap },
    { "rope", check_rope },
    { "mask_logits", check_mask_logits },
    { "largest", check_largest },
    { "exp_sum", check_exp_sum },
    { NULL, NULL },
};
