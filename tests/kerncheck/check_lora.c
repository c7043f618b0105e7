/* SPDX-License-Identifier: Apache-2.0 */
/* check_lora.c - oracle of the products of low-rank adapters: exact results by the specified order
 * of additions, and closeness to sums in double. */
#include "kerncheck.h"
#include <math.h>
#include <string.h>

enum { MAX_ROWS = 11, MAX_K = 200, MAX_N = 90 };

struct lora_case {
    size_t n, k, n_rows, first_row, x_stride, out_stride;
    size_t chain_length; /* elements of a chain of weights, rounded up */
    unsigned chain;      /* 0: all */
    float *w, *x, *out, *scales, before[MAX_ROWS * (MAX_N + 3)];
    uint32_t rows[MAX_ROWS];
    uint16_t *bf16; /* NULL: w is f32 */
    bool list, scaled;
};

static void make_case(struct kc_env *env, struct lora_case *c, int round)
{
    c->scaled = round % 2;
    c->list = kc_int(env, 0, 1);
    c->k = (size_t)kc_int(env, 1, round % 5 ? 20 : MAX_K);
    c->chain_length = (c->k + 3) / 4;
    c->chain = kc_int(env, 0, 2) ? 0 : (unsigned)kc_int(env, 1, 4);
    c->n = (size_t)kc_int(env, 1, MAX_N);
    if (c->scaled)
        c->n = (c->n + 15) / 16 * 16 <= MAX_N ? (c->n + 15) / 16 * 16 : 80;
    c->n_rows = (size_t)kc_int(env, 1, MAX_ROWS);
    c->first_row = (size_t)kc_int(env, 0, 3);
    c->x_stride = c->k + (size_t)kc_int(env, 0, 2);
    c->out_stride = c->n + (size_t)kc_int(env, 0, 3);
    /* ascending rows in [first_row, first_row + MAX_ROWS) */
    for (size_t i = 0; i < c->n_rows; i++)
        c->rows[i] = (uint32_t)(c->first_row + i + (c->list ? MAX_ROWS - c->n_rows : 0));
    const size_t rows = c->first_row + MAX_ROWS,
                 n_weights = (c->n + 15) / 16 * 64 * c->chain_length;
    c->w = kc_buffer_end(n_weights * 4);
    c->x = kc_buffer_end(rows * c->x_stride * 4);
    c->scales = kc_buffer_end(rows * 4);
    c->out = kc_buffer_end(((MAX_ROWS - 1) * c->out_stride + c->n) * 4);
    kc_fill_normal(env, c->w, n_weights, 1);
    for (size_t i = 0; i < n_weights; i++) /* a place behind the end of a chain */
        if (i / 16 % c->chain_length * 4 + i / 16 / c->chain_length % 4 >= c->k)
            c->w[i] = NAN;
    kc_fill_normal(env, c->x, rows * c->x_stride, 1);
    kc_fill_normal(env, c->scales, rows, 1);
    kc_fill_normal(env, c->out, (MAX_ROWS - 1) * c->out_stride + c->n, 1);
    c->bf16 = kc_int(env, 0, 1) ? kc_buffer_end(n_weights * 2) : NULL;
    for (size_t i = 0; c->bf16 && i < n_weights; i++) {
        c->bf16[i] = kc_bf16_bits(c->w[i]);
        c->w[i] = kc_bf16_value(c->bf16[i]);
    }
    memcpy(c->before, c->out, ((MAX_ROWS - 1) * c->out_stride + c->n) * 4);
}

/* Output (row, j) before any rounding of the scale and the addition: exact order in f32, and the
 * sum in double with the sum of magnitudes. */
static float ordered(const struct lora_case *c, size_t row, size_t j, double *sum, double *size)
{
    const float *panel = c->w + j / 16 * 64 * c->chain_length, *x = c->x + row * c->x_stride;
    float chain[4] = { 0 };
    *sum = *size = 0;
    for (size_t i = 0; i < c->k; i++) {
        const float w = panel[(i % 4 * c->chain_length + i / 4) * 16 + j % 16];
        if (c->chain && i % 4 != c->chain - 1)
            continue;
        chain[i % 4] = fmaf(x[i], w, chain[i % 4]);
        *sum += (double)x[i] * w;
        *size += fabs((double)x[i] * w);
    }
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

static bool is_row(const struct lora_case *c, size_t row)
{
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i] == row)
            return true;
    return false;
}

static void compare(struct kc_env *env, const struct lora_case *c)
{
    for (size_t o = 0; o < MAX_ROWS; o++)
        for (size_t j = 0; j < c->out_stride; j++) {
            const size_t row = c->first_row + o, at = o * c->out_stride + j;
            if (o + 1 == MAX_ROWS && j >= c->n)
                break;
            if (j >= c->n || !is_row(c, row)) {
                if (memcmp(&c->out[at], &c->before[at], 4) != 0)
                    kc_fail(env, "wrote output %zu of row %zu", j, row);
                continue;
            }
            double sum, size;
            const float t = ordered(c, row, j, &sum, &size);
            const float want = c->chain    ? t
                               : c->scaled ? t * (0.75f * c->scales[row])
                                           : c->before[at] + t;
            const double plain = c->chain    ? sum
                                 : c->scaled ? sum * 0.75 * c->scales[row]
                                             : c->before[at] + sum;
            if (c->out[at] != want)
                kc_fail(env, "n %zu k %zu row %zu output %zu: %.9g instead of %.9g", c->n, c->k,
                        row, j, c->out[at], want);
            if (fabs(c->out[at] - plain) > 1e-5 * (size + fabs(plain) + 1) * 3)
                kc_fail(env, "row %zu output %zu: %.9g, in double %.9g", row, j, c->out[at], plain);
        }
}

static void check_lora(struct kc_env *env, kc_fn fn)
{
    static struct lora_case c;
    void (*kernel)(const struct qr_lora_kernel_args *);
    memcpy(&kernel, &fn, sizeof fn);
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        make_case(env, &c, r);
        const struct qr_lora_kernel_args a = { .w = c.bf16 ? (const void *)c.bf16 : c.w,
                                               .bf16 = c.bf16 != NULL,
                                               .x = c.x,
                                               .out = c.out,
                                               .x_stride = c.x_stride,
                                               .out_stride = c.out_stride,
                                               .rows = c.list ? c.rows : NULL,
                                               .n_rows = c.n_rows,
                                               .first_row = c.first_row,
                                               .scales = c.scaled ? c.scales : NULL,
                                               .scale = 0.75f,
                                               .chain = c.chain,
                                               .n = c.n,
                                               .k = c.k };
        kernel(&a);
        compare(env, &c);
        if (!kc_intact(c.out))
            kc_fail(env, "wrote outside out");
        kc_release();
    }
}

const struct kc_checker kc_checkers_lora[] = { { "lora", check_lora }, { NULL, NULL } };
