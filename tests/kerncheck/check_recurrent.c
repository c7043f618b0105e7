/* SPDX-License-Identifier: Apache-2.0 */
/* check_recurrent.c - oracles in double for convolutions and decays. */
#include "check_recurrent.h"
#include <math.h>
#include <string.h>

enum { MAX_TAPS = 9 };
static const int sizes[] = {
    1, 2, 7, 8, 15, 16, 17, 24, 31, 33, 48, 64, 65, 100, 128, 129, KC_MAX_N
};

size_t kc_pick_size(struct kc_env *env, int round)
{
    const int n = (int)(sizeof sizes / sizeof sizes[0]);
    return (size_t)(round < n ? sizes[round] : kc_int(env, 1, KC_MAX_N));
}

bool kc_near(struct kc_env *env, const char *what, size_t i, double got, double want, double tol,
             double scale)
{
    const double ratio = fabs(got - want) / (tol * scale);
    if (ratio > env->worst)
        env->worst = ratio;
    if (ratio <= 1)
        return true;
    kc_fail(env, "%s: element %zu: %.9g instead of %.9g", what, i, got, want);
    return false;
}

float *kc_normals(struct kc_env *env, size_t n, float scale)
{
    float *x = kc_buffer_end(n * sizeof *x);
    kc_fill_normal(env, x, n, scale);
    return x;
}

static void check_conv(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *const *, const float *, size_t, const float *, size_t,
                   size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = kc_pick_size(env, r), taps = (size_t)kc_int(env, 1, MAX_TAPS);
        const size_t stride = n + (size_t)kc_int(env, 0, 5);
        const float *rows[MAX_TAPS];
        float *w = kc_normals(env, stride * (taps - 1) + n, 1), *out = kc_buffer_end(n * 4);
        float *bias = kc_int(env, 0, 1) ? kc_normals(env, n, 1) : NULL;
        for (size_t j = 0; j < taps; j++)
            rows[j] = kc_normals(env, n, 2);
        kernel(out, rows, w, stride, bias, taps, n);
        for (size_t i = 0; i < n && !env->failures; i++) {
            float sum = bias ? bias[i] : 0;
            for (size_t j = 0; j < taps; j++)
                sum = fmaf(w[j * stride + i], rows[j][i], sum);
            if (memcmp(&sum, &out[i], 4) != 0)
                kc_fail(env, "channel %zu: %.9g instead of %.9g", i, (double)out[i], (double)sum);
        }
        if (!kc_intact(out))
            kc_fail(env, "wrote outside out, n %zu", n);
        kc_release();
    }
}

static const float extremes[] = { 0, -0.0f, 1e-30f, -1e-30f, 87, -87, 1e30f, -1e30f, 20, -20, 200 };
enum { N_EXTREMES = sizeof extremes / sizeof extremes[0] };

/* Inputs of an elementwise function: extremes first in every third round. */
static float *arguments(struct kc_env *env, size_t n, int round, float copy[KC_MAX_N])
{
    float *x = kc_normals(env, n, 6);
    for (size_t i = 0; i < n && i < N_EXTREMES && round % 3 == 0; i++)
        x[i] = extremes[i];
    memcpy(copy, x, n * sizeof *x);
    return x;
}

static void check_softplus(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = kc_pick_size(env, r);
        float x0[KC_MAX_N], *x = arguments(env, n, r, x0);
        float *bias = r % 2 ? kc_normals(env, n, 1) : NULL;
        kernel(x, bias, n);
        for (size_t i = 0; i < n; i++) {
            const float y = x0[i] + (bias ? bias[i] : 0);
            const double want = (y > 0 ? (double)y : 0) + log1p(exp(-fabs((double)y)));
            if (!kc_near(env, "softplus", i, x[i], want, 1e-6 * fmax(1, fabs((double)y) / 8),
                         want + 1e-31))
                return;
        }
        if (!kc_intact(x))
            kc_fail(env, "wrote outside x, n %zu", n);
        kc_release();
    }
}

static void check_exp_mul(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = kc_pick_size(env, r);
        float x0[KC_MAX_N], *x = arguments(env, n, r, x0), *a = kc_normals(env, n, 1);
        kernel(x, a, n);
        for (size_t i = 0; i < n; i++) {
            const float y = a[i] * x0[i];
            const double arg = y > 88 ? 88 : y, want = exp(arg);
            if (!kc_near(env, "exp_mul", i, x[i], want, 5e-7 * fmax(1, fabs(arg) / 4),
                         want + 1e-31))
                return;
        }
        if (!kc_intact(x))
            kc_fail(env, "wrote outside x, n %zu", n);
        kc_release();
    }
}

static void check_sigmoid(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, float, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t n = kc_pick_size(env, r);
        float g0[KC_MAX_N], *g = arguments(env, n, r, g0),
                            *x = r % 2 ? kc_normals(env, n, 2) : NULL;
        const float a = kc_normal(env);
        kernel(g, x, a, n);
        for (size_t i = 0; i < n; i++) {
            const double size = fabs((double)a * (x ? (double)x[i] : 1));
            const double want = 1 / (1 + exp(-(double)g0[i])) * a * (x ? (double)x[i] : 1);
            if (!kc_near(env, "sigmoid_mul", i, g[i], want, 1e-6 * fmax(1, fabs((double)g0[i]) / 4),
                         fabs(want) + size * 1e-36 + 1e-36))
                return;
        }
        if (!kc_intact(g))
            kc_fail(env, "wrote outside gate, n %zu", n);
        kc_release();
    }
}

const struct kc_checker kc_checkers_recurrent[] = {
    { "conv_taps", check_conv },
    { "softplus", check_softplus },
    { "exp_mul", check_exp_mul },
    { "sigmoid_mul", check_sigmoid },
    { NULL, NULL },
};
