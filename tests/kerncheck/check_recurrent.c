/* SPDX-License-Identifier: Apache-2.0 */
/* check_recurrent.c - oracles in double for convolutions, decays and one step of a state. */
#include "kerncheck.h"
#include <math.h>
#include <string.h>

enum { MAX_N = 300, MAX_KEYS = 130, MAX_TAPS = 9 };
static const int sizes[] = { 1, 2, 7, 8, 15, 16, 17, 24, 31, 33, 48, 64, 65, 100, 128, 129, MAX_N };

static size_t pick_size(struct kc_env *env, int round)
{
    const int n = (int)(sizeof sizes / sizeof sizes[0]);
    return (size_t)(round < n ? sizes[round] : kc_int(env, 1, MAX_N));
}

/* |got - want| <= tol * scale */
/* Vector levels flush exponentials below 2^-125 to 0: a floor of 1e-31 in `scale` admits that. */
static bool near(struct kc_env *env, const char *what, size_t i, double got, double want,
                 double tol, double scale)
{
    const double ratio = fabs(got - want) / (tol * scale);
    if (ratio > env->worst)
        env->worst = ratio;
    if (ratio <= 1)
        return true;
    kc_fail(env, "%s: element %zu: %.9g instead of %.9g", what, i, got, want);
    return false;
}

static float *normal(struct kc_env *env, size_t n, float scale)
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
        const size_t n = pick_size(env, r), taps = (size_t)kc_int(env, 1, MAX_TAPS);
        const size_t stride = n + (size_t)kc_int(env, 0, 5);
        const float *rows[MAX_TAPS];
        float *w = normal(env, stride * (taps - 1) + n, 1), *out = kc_buffer_end(n * 4);
        float *bias = kc_int(env, 0, 1) ? normal(env, n, 1) : NULL;
        for (size_t j = 0; j < taps; j++)
            rows[j] = normal(env, n, 2);
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
static float *arguments(struct kc_env *env, size_t n, int round, float copy[MAX_N])
{
    float *x = normal(env, n, 6);
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
        const size_t n = pick_size(env, r);
        float x0[MAX_N], *x = arguments(env, n, r, x0);
        float *bias = r % 2 ? normal(env, n, 1) : NULL;
        kernel(x, bias, n);
        for (size_t i = 0; i < n; i++) {
            const float y = x0[i] + (bias ? bias[i] : 0);
            const double want = (y > 0 ? (double)y : 0) + log1p(exp(-fabs((double)y)));
            if (!near(env, "softplus", i, x[i], want, 1e-6 * fmax(1, fabs((double)y) / 8),
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
        const size_t n = pick_size(env, r);
        float x0[MAX_N], *x = arguments(env, n, r, x0), *a = normal(env, n, 1);
        kernel(x, a, n);
        for (size_t i = 0; i < n; i++) {
            const float y = a[i] * x0[i];
            const double arg = y > 88 ? 88 : y, want = exp(arg);
            if (!near(env, "exp_mul", i, x[i], want, 5e-7 * fmax(1, fabs(arg) / 4), want + 1e-31))
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
        const size_t n = pick_size(env, r);
        float g0[MAX_N], *g = arguments(env, n, r, g0), *x = r % 2 ? normal(env, n, 2) : NULL;
        const float a = kc_normal(env);
        kernel(g, x, a, n);
        for (size_t i = 0; i < n; i++) {
            const double size = fabs((double)a * (x ? (double)x[i] : 1));
            const double want = 1 / (1 + exp(-(double)g0[i])) * a * (x ? (double)x[i] : 1);
            if (!near(env, "sigmoid_mul", i, g[i], want, 1e-6 * fmax(1, fabs((double)g0[i]) / 4),
                      fabs(want) + size * 1e-36 + 1e-36))
                return;
        }
        if (!kc_intact(g))
            kc_fail(env, "wrote outside gate, n %zu", n);
        kc_release();
    }
}

/* ---- States: columns [0, n) of rows of `stride`; the columns behind them must stay. */
struct state_case {
    size_t n, n_k, stride;
    float *s, *q, *k, *v, *out;
    float *copy; /* of s */
};

static void make_state(struct kc_env *env, struct state_case *c, int round)
{
    c->n = pick_size(env, round);
    c->n_k = (size_t)kc_int(env, 1, MAX_KEYS);
    c->stride = c->n + (size_t)kc_int(env, 0, 3);
    const size_t total = c->stride * (c->n_k - 1) + c->n;
    c->s = normal(env, total, 1);
    c->copy = kc_buffer_end(total * 4);
    memcpy(c->copy, c->s, total * 4);
    c->q = normal(env, c->n_k, 0.3f);
    c->k = normal(env, c->n_k, 0.3f);
    c->v = normal(env, c->n, 1);
    c->out = kc_buffer_end(c->n * 4);
}

static void check_outside(struct kc_env *env, const struct state_case *c)
{
    for (size_t i = 0; i + 1 < c->n_k; i++)
        if (memcmp(c->s + i * c->stride + c->n, c->copy + i * c->stride + c->n,
                   (c->stride - c->n) * 4) != 0)
            kc_fail(env, "wrote behind column %zu of row %zu", c->n, i);
    if (!kc_intact(c->s) || !kc_intact(c->out))
        kc_fail(env, "wrote outside the state or out, n %zu, %zu keys", c->n, c->n_k);
}

/* Compares column j of the state and of out with the oracle's. */
static bool same_column(struct kc_env *env, const struct state_case *c, size_t j,
                        const double *after, double sum, double size)
{
    for (size_t i = 0; i < c->n_k; i++)
        if (!near(env, "state", i * c->stride + j, c->s[i * c->stride + j], after[i], 4e-6,
                  fabs(after[i]) + size))
            return false;
    return near(env, "out", j, c->out[j], sum, 1e-5, fabs(sum) + size);
}

static void check_outer(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, size_t, float *, const float *, const float *, const float *, float,
                   size_t, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        make_state(env, &c, r);
        const float decay = kc_uniform(env, 0, 1);
        kernel(c.s, c.stride, c.out, c.q, c.k, c.v, decay, c.n_k, c.n);
        for (size_t j = 0; j < c.n; j++) {
            double after[MAX_KEYS], sum = 0;
            for (size_t i = 0; i < c.n_k; i++) {
                after[i] = (double)decay * c.copy[i * c.stride + j] + (double)c.k[i] * c.v[j];
                sum += c.q[i] * after[i];
            }
            if (!same_column(env, &c, j, after, sum, 1))
                return;
        }
        check_outside(env, &c);
        kc_release();
    }
}

static void check_delta(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, size_t, float *, const float *, const float *, const float *,
                   const float *, size_t, float, size_t, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        make_state(env, &c, r);
        const size_t step = (size_t)kc_int(env, 0, 1);
        float *decay = normal(env, step ? c.n_k : 1, 0.5f);
        const float beta = kc_uniform(env, 0, 2);
        kernel(c.s, c.stride, c.out, c.q, c.k, c.v, decay, step, beta, c.n_k, c.n);
        for (size_t j = 0; j < c.n; j++) {
            double after[MAX_KEYS], sum = 0, read = 0;
            for (size_t i = 0; i < c.n_k; i++) {
                after[i] = (double)decay[i * step] * c.copy[i * c.stride + j];
                read += c.k[i] * after[i];
            }
            const double u = beta * (c.v[j] - read);
            for (size_t i = 0; i < c.n_k; i++) {
                after[i] += c.k[i] * u;
                sum += c.q[i] * after[i];
            }
            if (!same_column(env, &c, j, after, sum, 2))
                return;
        }
        check_outside(env, &c);
        kc_release();
    }
}

static void check_channels(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(float *, const float *, size_t, float *, const float *, const float *,
                   const float *, const float *, size_t, size_t);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        make_state(env, &c, r);
        float *a = normal(env, c.stride * (c.n_k - 1) + c.n, 2), *dt = normal(env, c.n, 1);
        for (size_t i = 0; i < c.stride * (c.n_k - 1) + c.n; i++)
            a[i] = -fabsf(a[i]);
        for (size_t j = 0; j < c.n; j++)
            dt[j] = fabsf(dt[j]);
        kernel(c.s, a, c.stride, c.out, dt, c.v, c.k, c.q, c.n_k, c.n);
        for (size_t j = 0; j < c.n; j++) {
            double after[MAX_KEYS], sum = 0;
            for (size_t i = 0; i < c.n_k; i++) {
                const size_t at = i * c.stride + j;
                after[i] =
                    exp((double)dt[j] * a[at]) * c.copy[at] + (double)c.k[i] * dt[j] * c.v[j];
                sum += c.q[i] * after[i];
            }
            if (!same_column(env, &c, j, after, sum, 1))
                return;
        }
        check_outside(env, &c);
        kc_release();
    }
}

const struct kc_checker kc_checkers_recurrent[] = {
    { "conv_taps", check_conv },          { "softplus", check_softplus },
    { "exp_mul", check_exp_mul },         { "sigmoid_mul", check_sigmoid },
    { "state_outer", check_outer },       { "state_delta", check_delta },
    { "state_channels", check_channels }, { NULL, NULL },
};
