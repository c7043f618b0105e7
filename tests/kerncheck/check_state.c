/* SPDX-License-Identifier: Apache-2.0 */
/* check_state.c - oracles in double for the updates of states of recurrent layers. */
#include "check_recurrent.h"
#include <math.h>
#include <string.h>

/* ---- States: columns [0, n) of rows of `stride`; the columns behind them must stay. Rows of
 * operands have strides of their own. */
enum { MAX_ROWS = 5, MAX_KEYS = 130 };

struct state_case {
    struct qr_scan scan;
    float *s, *v, *out; /* of scan, writable */
    float *copy;        /* of the state before */
};

static size_t pad(struct kc_env *env) { return (size_t)kc_int(env, 0, 3); }

/* `rows` rows of n floats, `stride` apart; nothing behind the last row may be read. */
static float *operand(struct kc_env *env, size_t rows, size_t stride, size_t n, float scale)
{
    return kc_normals(env, (rows - 1) * stride + n, scale);
}

static void make_state(struct kc_env *env, struct state_case *c, int round)
{
    const size_t n = kc_pick_size(env, round), keys = (size_t)kc_int(env, 1, MAX_KEYS);
    const size_t rows = (size_t)kc_int(env, 1, MAX_ROWS), stride = n + pad(env);
    const size_t total = stride * (keys - 1) + n;
    struct qr_scan *a = &c->scan;
    *a = (struct qr_scan){ .state_stride = stride,
                           .n_keys = keys,
                           .n_values = n,
                           .n_rows = rows,
                           .key_stride = keys + pad(env),
                           .value_stride = n + pad(env),
                           .out_stride = n + pad(env) };
    c->s = a->state = kc_normals(env, total, 1);
    c->copy = kc_buffer_end(total * 4);
    memcpy(c->copy, c->s, total * 4);
    a->q = operand(env, rows, a->key_stride, keys, 0.2f);
    a->k = operand(env, rows, a->key_stride, keys, 0.2f);
    a->v = c->v = operand(env, rows, a->value_stride, n, 1);
    c->out = a->out = kc_buffer_end(((rows - 1) * a->out_stride + n) * 4);
}

static void check_outside(struct kc_env *env, const struct state_case *c)
{
    const struct qr_scan *a = &c->scan;
    for (size_t i = 0; i + 1 < a->n_keys; i++)
        if (memcmp(c->s + i * a->state_stride + a->n_values,
                   c->copy + i * a->state_stride + a->n_values,
                   (a->state_stride - a->n_values) * 4) != 0)
            kc_fail(env, "wrote behind column %zu of row %zu", a->n_values, i);
    if (!kc_intact(c->s) || !kc_intact(c->out))
        kc_fail(env, "wrote outside the state or out, n %zu, %zu keys", a->n_values, a->n_keys);
}

/* Column j in double: the state, and the output of every row. `size` bounds their terms, whose
 * rounding errors the sums contain. */
struct column {
    double state[MAX_KEYS], out[MAX_ROWS], size;
};

static void begin_column(const struct state_case *c, size_t j, struct column *x)
{
    x->size = 1;
    for (size_t i = 0; i < c->scan.n_keys; i++)
        x->state[i] = c->copy[i * c->scan.state_stride + j];
}

/* s += k u; out = sum of q s. A function of its own: gcc 12 for aarch64 fails on copies of the loop
 * without the sum. */
__attribute__((noinline)) static void add_row(const struct qr_scan *a, size_t r, double u,
                                              struct column *x)
{
    const float *q = a->q + r * a->key_stride, *k = a->k + r * a->key_stride;
    double sum = 0;
    for (size_t i = 0; i < a->n_keys; i++) {
        x->state[i] += k[i] * u;
        x->size = fmax(x->size, fabs(x->state[i]));
        sum += q[i] * x->state[i];
    }
    x->size = fmax(x->size, fabs(u));
    x->out[r] = sum;
}

/* Compares column j of the state and of out with the oracle's. */
static bool same_column(struct kc_env *env, const struct state_case *c, size_t j,
                        const struct column *x)
{
    const struct qr_scan *a = &c->scan;
    const double rows = (double)a->n_rows;
    for (size_t i = 0; i < a->n_keys; i++)
        if (!kc_near(env, "state", i * a->state_stride + j, c->s[i * a->state_stride + j],
                     x->state[i], 4e-6 * rows, fabs(x->state[i]) + x->size))
            return false;
    for (size_t r = 0; r < a->n_rows; r++)
        if (!kc_near(env, "out", r * a->out_stride + j, c->out[r * a->out_stride + j], x->out[r],
                     1e-5 * rows, fabs(x->out[r]) + x->size))
            return false;
    return true;
}

/* ---- bf16: the bits of one row at a time with an f32 state, rounded here after each */

/* A kernel and the arguments that only some have. */
struct state_kernel {
    kc_fn fn;
    const float *rates, *d; /* of channels, else NULL */
};

static void run_kernel(const struct state_kernel *k, const struct qr_scan *scan)
{
    void (*kernel)(const struct qr_scan *);
    void (*channels)(const struct qr_scan *, const float *, const float *);
    memcpy(&kernel, &k->fn, sizeof k->fn);
    memcpy(&channels, &k->fn, sizeof k->fn);
    if (k->rates)
        channels(scan, k->rates, k->d);
    else
        kernel(scan);
}

static const float *behind(const float *p, size_t n) { return p ? p + n : NULL; }

static struct qr_scan row_of(const struct qr_scan *s, size_t t)
{
    struct qr_scan row = *s;
    row.n_rows = 1;
    row.q += t * s->key_stride;
    row.k += t * s->key_stride;
    row.v += t * s->value_stride;
    row.out += t * s->out_stride;
    row.decay = behind(s->decay, t * s->decay_stride);
    row.dt = behind(s->dt, t * s->dt_stride);
    row.read = behind(s->read, t * s->key_stride);
    row.remove = behind(s->remove, t * s->key_stride);
    return row;
}

static uint16_t high_half(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* To nearest even; zeros are positive. */
static float rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x == 0 ? 0 : x;
}

/* Sets the state, which is s or bf16, to the one before, rounded; `tiny`: state and values are
 * denormals or a little more. */
static void begin_bf16(struct state_case *c, bool tiny)
{
    const struct qr_scan *a = &c->scan;
    const float scale = tiny ? 1e-38f : 1;
    for (size_t i = 0; i < a->n_keys; i++)
        for (size_t j = 0; j < a->n_values; j++) {
            const size_t at = i * a->state_stride + j;
            const float x = rounded(c->copy[at] * scale);
            if (a->bf16)
                a->bf16[at] = high_half(x);
            else
                c->s[at] = x;
        }
}

/* The columns of the state. */
static bool same_bf16(const struct qr_scan *a, const float *state)
{
    for (size_t i = 0; i < a->n_keys; i++)
        for (size_t j = 0; j < a->n_values; j++)
            if (a->bf16[i * a->state_stride + j] != high_half(state[i * a->state_stride + j]))
                return false;
    return true;
}

/* A NaN that integer rounding would turn into -0 stays NaN, in its column alone. */
static void check_bf16_nan(struct kc_env *env, struct state_case *c,
                           const struct state_kernel *kernel)
{
    const struct qr_scan *a = &c->scan;
    const uint32_t all_ones = 0x7fffffff;
    begin_bf16(c, false);
    memcpy(c->v, &all_ones, sizeof all_ones);
    run_kernel(kernel, a);
    for (size_t i = 0; i < a->n_keys; i++)
        for (size_t j = 0; j < a->n_values; j++) {
            const bool nan = (a->bf16[i * a->state_stride + j] & 0x7fff) > 0x7f80;
            if (nan != (j == 0))
                kc_fail(env, "bf16: NaN in v[0], state of key %zu, column %zu is%s NaN", i, j,
                        nan ? "" : " not");
        }
}

static void check_bf16(struct kc_env *env, struct state_case *c, const struct state_kernel *kernel)
{
    struct qr_scan *const a = &c->scan;
    const size_t n_state = a->state_stride * (a->n_keys - 1) + a->n_values,
                 n_out = (a->n_rows - 1) * a->out_stride + a->n_values;
    float *want = kc_buffer_end(n_out * 4);
    uint16_t *stored = kc_buffer_end(n_state * sizeof *stored);
    const bool tiny = kc_int(env, 0, 3) == 0;
    for (size_t t = 0; tiny && t < a->n_rows; t++)
        for (size_t j = 0; j < a->n_values; j++)
            c->v[t * a->value_stride + j] *= 1e-38f;
    memset(c->out, 0, n_out * 4);
    begin_bf16(c, tiny);
    for (size_t t = 0; t < a->n_rows; t++) {
        const struct qr_scan row = row_of(a, t);
        run_kernel(kernel, &row);
        for (size_t i = 0; i < a->n_keys; i++)
            for (size_t j = 0; j < a->n_values; j++)
                c->s[i * a->state_stride + j] = rounded(c->s[i * a->state_stride + j]);
    }
    memcpy(want, c->out, n_out * 4);
    memset(stored, 0, n_state * sizeof *stored);
    a->bf16 = stored;
    a->state = kc_buffer_end(n_state * sizeof *a->state);
    begin_bf16(c, tiny);
    run_kernel(kernel, a);
    if (!same_bf16(a, c->s) || memcmp(want, c->out, n_out * 4) != 0)
        kc_fail(env, "bf16: not the bits of one row at a time, %zu rows of %zu, %zu keys%s",
                a->n_rows, a->n_values, a->n_keys, tiny ? ", tiny" : "");
    for (size_t i = 0; i + 1 < a->n_keys; i++)
        for (size_t j = a->n_values; j < a->state_stride; j++)
            if (stored[i * a->state_stride + j])
                kc_fail(env, "wrote behind column %zu of row %zu", a->n_values, i);
    if (!kc_intact(stored) || !kc_intact(a->state))
        kc_fail(env, "wrote outside the bf16 state or the scratch, n %zu, %zu keys", a->n_values,
                a->n_keys);
    check_bf16_nan(env, c, kernel);
}

static void check_outer(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(const struct qr_scan *);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        struct column x;
        make_state(env, &c, r);
        struct qr_scan *const a = &c.scan;
        float *decay = operand(env, a->n_rows, a->decay_stride = 1 + pad(env), 1, 1);
        for (size_t t = 0; t < a->n_rows; t++)
            decay[t * a->decay_stride] = kc_uniform(env, 0, 1);
        a->decay = decay;
        a->d = r % 3 ? kc_normal(env) : 0;
        if (r % 2)
            a->dt = operand(env, a->n_rows, a->dt_stride = 1 + pad(env), 1, 1);
        kernel(a);
        for (size_t j = 0; j < a->n_values; j++) {
            begin_column(&c, j, &x);
            for (size_t t = 0; t < a->n_rows; t++) {
                const double v = a->v[t * a->value_stride + j];
                for (size_t i = 0; i < a->n_keys; i++)
                    x.state[i] *= decay[t * a->decay_stride];
                add_row(a, t, a->dt ? a->dt[t * a->dt_stride] * v : v, &x);
                x.out[t] += a->d * v;
            }
            if (!same_column(env, &c, j, &x))
                return;
        }
        check_outside(env, &c);
        check_bf16(env, &c, &(struct state_kernel){ .fn = fn });
        kc_release();
    }
}

static void decay_column(const struct qr_scan *a, size_t t, struct column *x)
{
    for (size_t i = 0; i < a->n_keys; i++)
        x->state[i] *= a->decay[t * a->decay_stride + i * a->decay_step];
}

static double read_column(const struct qr_scan *a, const float *k, const struct column *x)
{
    double sum = 0;
    for (size_t i = 0; i < a->n_keys; i++)
        sum += k[i] * x->state[i];
    return sum;
}

/* The delta rule, and the recurrences of RWKV-6 and RWKV-7, which read a state before it decays. */
enum rule { DELTA, WKV6, WKV7 };

static void check_rule(struct kc_env *env, kc_fn fn, enum rule rule)
{
    const struct state_kernel kernel = { .fn = fn };
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        struct column x;
        make_state(env, &c, r);
        struct qr_scan *const a = &c.scan;
        a->decay_step = rule ? 1 : (size_t)kc_int(env, 0, 1);
        const size_t n_decays = a->decay_step ? a->n_keys : 1;
        a->decay = operand(env, a->n_rows, a->decay_stride = n_decays + pad(env), n_decays, 0.5f);
        a->dt = operand(env, a->n_rows, a->dt_stride = 1 + pad(env), 1, 0.7f);
        a->read = operand(env, a->n_rows, a->key_stride, a->n_keys, 0.2f);
        a->remove = operand(env, a->n_rows, a->key_stride, a->n_keys, 0.2f);
        const float *reads[] = { a->k, a->q, a->read };
        run_kernel(&kernel, a);
        for (size_t j = 0; j < a->n_values; j++) {
            begin_column(&c, j, &x);
            for (size_t t = 0; t < a->n_rows; t++) {
                const double v = a->v[t * a->value_stride + j];
                if (rule == DELTA)
                    decay_column(a, t, &x);
                const double read = read_column(a, reads[rule] + t * a->key_stride, &x);
                if (rule != DELTA)
                    decay_column(a, t, &x);
                for (size_t i = 0; rule == WKV7 && i < a->n_keys; i++)
                    x.state[i] += a->remove[t * a->key_stride + i] * read;
                add_row(a, t, rule ? v : a->dt[t * a->dt_stride] * (v - read), &x);
                x.out[t] = rule == WKV6 ? read : x.out[t];
            }
            if (!same_column(env, &c, j, &x))
                return;
        }
        check_outside(env, &c);
        check_bf16(env, &c, &kernel);
        kc_release();
    }
}

static void check_delta(struct kc_env *env, kc_fn fn) { check_rule(env, fn, DELTA); }
static void check_wkv6(struct kc_env *env, kc_fn fn) { check_rule(env, fn, WKV6); }
static void check_wkv7(struct kc_env *env, kc_fn fn) { check_rule(env, fn, WKV7); }

static void check_channels(struct kc_env *env, kc_fn fn)
{
    void (*kernel)(const struct qr_scan *, const float *, const float *);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct state_case c;
        struct column x;
        make_state(env, &c, r);
        struct qr_scan *const a = &c.scan;
        const size_t total = a->state_stride * (a->n_keys - 1) + a->n_values;
        float *rates = kc_normals(env, total, 2), *d = kc_normals(env, a->n_values, 1);
        float *dt = operand(env, a->n_rows, a->dt_stride = a->n_values + pad(env), a->n_values, 1);
        for (size_t i = 0; i < total; i++)
            rates[i] = -fabsf(rates[i]);
        for (size_t i = 0; i < (a->n_rows - 1) * a->dt_stride + a->n_values; i++)
            dt[i] = fabsf(dt[i]);
        a->dt = dt;
        kernel(a, rates, d);
        for (size_t j = 0; j < a->n_values; j++) {
            begin_column(&c, j, &x);
            for (size_t t = 0; t < a->n_rows; t++) {
                const double step = dt[t * a->dt_stride + j], v = a->v[t * a->value_stride + j];
                for (size_t i = 0; i < a->n_keys; i++)
                    x.state[i] *= exp(step * rates[i * a->state_stride + j]);
                add_row(a, t, step * v, &x);
                x.out[t] += d[j] * v;
            }
            if (!same_column(env, &c, j, &x))
                return;
        }
        check_outside(env, &c);
        check_bf16(env, &c, &(struct state_kernel){ fn, rates, d });
        kc_release();
    }
}

const struct kc_checker kc_checkers_state[] = {
    { "state_outer", check_outer },       { "state_delta", check_delta },
    { "state_channels", check_channels }, { "state_wkv6", check_wkv6 },
    { "state_wkv7", check_wkv7 },         { NULL, NULL },
};
