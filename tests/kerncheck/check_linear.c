/* SPDX-License-Identifier: Apache-2.0 */
/* check_linear.c - matmul kernels against sums in double. */
#include "amx_order.h"
#include "linear/packed.h"
#include "linear_oracle.h"
#include <math.h>
#include <string.h>

typedef void linear_kernel(const struct qr_linear_kernel_args *a);
enum mode { MODE_F32, MODE_BF16, MODE_Q8 };

/* A random problem: weights packed by the library, activations in the format of the kernel. */
struct problem {
    enum qr_weight_type type;
    enum mode mode;
    struct kc_weight *weights; /* [n][k], decoded from the raw rows */
    size_t poisoned;           /* a weight row full of NaN, or n */
    struct qr_packed *w;
    struct qr_linear_kernel_args a;
};

static void *guarded_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    return kc_buffer_end((size + align - 1) & ~(align - 1));
}

static void guarded_free(void *user, void *ptr, size_t size)
{
    (void)user; /* kc_release frees */
    (void)ptr;
    (void)size;
}

static const struct quire_allocator guarded = { NULL, guarded_alloc, guarded_free };

static size_t random_k(struct kc_env *env, enum qr_weight_type type)
{
    const int block = qr_weight_type_info(type)->block_elems;
    if (block == 1)
        return (size_t)(kc_int(env, 0, 3) ? kc_int(env, 1, 70) : kc_int(env, 71, 600));
    return (size_t)(block * kc_int(env, 1, block == 32 ? 20 : block < 256 ? 10 : 3));
}

/* Rows of k values, `stride` apart, the last of which ends at a guard page. */
static void *rows_at_guard(size_t m, size_t stride, size_t k, size_t size)
{
    return kc_buffer_end(((m - 1) * stride + k) * size);
}

static void quantize(struct kc_env *env, struct problem *p, size_t stride)
{
    const size_t m = p->a.m, k = p->a.k;
    struct qr_q8_block *q = rows_at_guard(m, stride, k / 32, sizeof *q);
    float *half_sums = rows_at_guard(m, stride, k / 32, 2 * sizeof *half_sums);
    const int extreme = kc_int(env, 0, 7);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < k / 32; j++) {
            struct qr_q8_block *b = q + i * stride + j;
            int sum[2] = { 0, 0 };
            for (int t = 0; t < 32; t++) {
                b->q[t] = (int8_t)(extreme == 0   ? 127
                                   : extreme == 1 ? -127
                                                  : kc_int(env, -127, 127));
                sum[t / 16] += b->q[t];
            }
            b->d = fabsf(kc_normal(env)) * 0.01f;
            b->d_sum = b->d * (float)(sum[0] + sum[1]);
            b->neg_half_sum = -sum[0];
            b->neg_sum = -sum[0] - sum[1];
            for (size_t half = 0; half < 2; half++)
                half_sums[2 * (i * stride + j) + half] = b->d * (float)sum[half];
        }
    p->a.q = q;
    p->a.half_sums = half_sums;
    p->a.q_stride = stride;
}

/* A random order of the inputs, for types that can have one, in every other problem. */
static void make_order(struct kc_env *env, struct problem *p)
{
    const bool can = p->type >= QR_WEIGHT_INT4_32 && p->type <= QR_WEIGHT_INT8_128;
    if (p->mode != MODE_F32 || !can || kc_int(env, 0, 1))
        return;
    uint32_t *order = kc_buffer_end(p->a.k * sizeof *order);
    for (size_t k = 0; k < p->a.k; k++) {
        const size_t j = (size_t)kc_int(env, 0, (int)k);
        order[k] = order[j];
        order[j] = (uint32_t)k;
    }
    p->a.order = order;
}

/* The element of a row of x that k multiplies. */
static size_t input(const struct qr_linear_kernel_args *a, size_t k)
{
    return a->order ? a->order[k] : k;
}

static void make_activations(struct kc_env *env, struct problem *p)
{
    const size_t m = p->a.m, k = p->a.k, even = k + k % 2,
                 stride = even + (size_t)(2 * kc_int(env, 0, 9));
    if (p->mode == MODE_Q8) {
        quantize(env, p, k / 32 + (size_t)kc_int(env, 0, 3));
    } else if (p->mode == MODE_F32) {
        float *x = rows_at_guard(m, stride, k, sizeof *x);
        for (size_t i = 0; i < m; i++)
            kc_fill_normal(env, x + i * stride, k, 1);
        p->a.x = x;
        p->a.x_stride = stride;
    } else {
        uint16_t *x = rows_at_guard(m, stride, even, sizeof *x);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < even; j++)
                x[i * stride + j] = j < k ? kc_bf16_bits(kc_normal(env)) : 0;
        p->a.x_bf16 = x;
        p->a.x_bf16_stride = stride;
        float *wide = rows_at_guard(m, stride, even, sizeof *wide);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < even; j++)
                wide[i * stride + j] = kc_bf16_value(x[i * stride + j]);
        p->a.x = wide; /* native_bf16_reads_f32 */
        p->a.x_stride = stride;
    }
}

/* Random rows, packed by the library and decoded by the oracle. */
static bool make_weights(struct kc_env *env, struct problem *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const size_t n = p->a.n, k = p->a.k;
    if (qr_packed_create(p->type, n, k, &guarded, &p->w, &err) != QUIRE_OK) {
        kc_fail(env, "no weight: %s", err.msg);
        return false;
    }
    uint8_t *raw = kc_buffer_end(n * p->w->row_bytes);
    p->weights = kc_buffer_end(n * k * sizeof *p->weights);
    p->poisoned = kc_int(env, 0, 2) ? n : (size_t)kc_int(env, 0, (int)n - 1);
    for (size_t j = 0; j < n; j++) {
        uint8_t *row = raw + j * p->w->row_bytes;
        kc_random_row(env, p->type, k, row);
        if (j == p->poisoned)
            kc_poison_row(p->type, k, row);
        for (size_t i = 0; i < k; i++)
            p->weights[j * k + i] = kc_weight_at(p->type, row, i);
    }
    if (qr_packed_pack_rows(p->w, 0, n, raw, &err) != QUIRE_OK) {
        kc_fail(env, "not packed: %s", err.msg);
        return false;
    }
    p->a.w = p->w->data;
    p->a.panel_bytes = p->w->panel_bytes;
    return true;
}

static bool make_problem(struct kc_env *env, enum qr_weight_type type, enum mode mode,
                         struct problem *p)
{
    memset(p, 0, sizeof *p);
    p->type = type;
    p->mode = mode;
    const int many = kc_int(env, 0, 9);
    p->a.m = (size_t)(many > 1 ? kc_int(env, 1, 20)
                      : many   ? kc_int(env, 21, 50)
                               : kc_int(env, 120, 140));
    p->a.n = (size_t)(p->a.m > 50 ? kc_int(env, 1, 20) : kc_int(env, 1, 70));
    p->a.k = random_k(env, type);
    p->a.prefetch = (enum qr_weight_prefetch)kc_int(env, 0, 2);
    if (!make_weights(env, p))
        return false;
    make_order(env, p);
    make_activations(env, p);
    if (kc_int(env, 0, 1)) {
        float *bias = kc_buffer_end(p->a.n * sizeof *bias);
        kc_fill_normal(env, bias, p->a.n, 1);
        p->a.bias = bias;
    }
    p->a.out_stride = p->a.n + (size_t)kc_int(env, 0, 5);
    return true;
}

/* Output (i, j) in double; *bound: bound of the rounding error. */
static double want(const struct problem *p, size_t i, size_t j, double *bound)
{
    const struct qr_linear_kernel_args *a = &p->a;
    const int sub = kc_sub_block(p->type);
    double sum = 0, size = 0, n_adds = 0;
    for (size_t k = 0; k < a->k; k++) {
        const struct kc_weight w = p->weights[j * a->k + k];
        if (p->mode == MODE_Q8) {
            const struct qr_q8_block *b = a->q + i * a->q_stride + k / 32;
            const double x = (double)b->d * b->q[k % 32];
            sum += x * (w.scale * w.q - w.min);
            size += fabs(x) * (fabs(w.scale * w.q) + fabs(w.min));
            n_adds += 4.0 / sub; /* two fma; one operand of each is rounded */
        } else {
            const double x = p->mode == MODE_F32
                                 ? (double)a->x[i * a->x_stride + input(a, k)]
                                 : (double)kc_bf16_value(a->x_bf16[i * a->x_bf16_stride + k]);
            sum += x * w.value;
            size += fabs(x * w.value);
            n_adds += 1;
        }
    }
    if (a->bias) {
        sum += (double)a->bias[j];
        size += fabs((double)a->bias[j]);
        n_adds += 1;
    }
    *bound = 2 * n_adds * 0x1p-24 * size + 1e-36;
    return sum;
}

/* Zero for denormals, as in bf16 x bf16. */
static float flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

/* Row i times a weight row, in the order of AMX tiles. */
static float exact_tiles(const struct problem *p, size_t i, const struct kc_weight *row)
{
    const struct qr_linear_kernel_args *a = &p->a;
    float acc = 0;
    for (size_t k0 = 0; k0 < a->k; k0 += 32) {
        float x[32], w[32];
        int n = 0;
        for (; n < 32 && k0 + (size_t)n < a->k; n++) {
            x[n] = kc_bf16_value(a->x_bf16[i * a->x_bf16_stride + k0 + (size_t)n]);
            w[n] = (float)row[k0 + (size_t)n].value;
        }
        acc = kc_amx_dot(acc, x, 1, w, 1, n, NULL);
    }
    return acc;
}

/* Output (i, j), bit by bit, by the operations of docs/numerics.md N1-N4. */
static float exact(const struct problem *p, bool tiles, size_t i, size_t j)
{
    const struct qr_linear_kernel_args *a = &p->a;
    const size_t sub = (size_t)kc_sub_block(p->type);
    const struct kc_weight *row = p->weights + j * a->k;
    float acc = 0;
    if (p->mode == MODE_Q8) {
        const struct qr_q8_block *q = a->q + i * a->q_stride;
        for (size_t k = 0; k < a->k; k += sub) {
            const struct qr_q8_block *b = q + k / 32;
            const struct kc_weight w = row[k];
            int isum = 0, asum = 0;
            for (size_t t = k; t < k + sub; t++) {
                isum += row[t].q * b->q[t % 32];
                asum += b->q[t % 32];
            }
            acc = fmaf((float)isum, (float)w.scale * b->d, acc);
            if (kc_has_min(p->type))
                acc = fmaf(-(float)w.min, b->d * (float)asum, acc);
        }
    } else if (tiles && p->mode == MODE_BF16) {
        acc = exact_tiles(p, i, row);
    } else {
        for (size_t k = 0; k < a->k + a->k % 2; k++) {
            const size_t at = p->mode == MODE_BF16 ? k ^ 1 : k; /* the odd one of a pair first */
            if (at >= a->k)
                continue;
            const float w = (float)row[at].value;
            if (p->mode == MODE_F32)
                acc = fmaf(a->x[i * a->x_stride + input(a, at)], w, acc);
            else
                acc = flush(fmaf(flush(kc_bf16_value(a->x_bf16[i * a->x_bf16_stride + at])),
                                 flush(w), acc));
        }
    }
    return a->bias ? acc + a->bias[j] : acc;
}

static bool check_values(struct kc_env *env, const struct problem *p)
{
    const struct qr_linear_kernel_args *a = &p->a;
    const bool tiles = kc_is_amx(env);
    for (size_t i = 0; i < a->m; i++) {
        for (size_t j = 0; j < a->n; j++) {
            double bound;
            const double expected = want(p, i, j, &bound),
                         got = (double)a->out[i * a->out_stride + j];
            if (j == p->poisoned) /* undefined; its neighbors are checked */
                continue;
            const float bits = exact(p, tiles, i, j);
            if (bits != a->out[i * a->out_stride + j]) {
                kc_fail(env, "m %zu n %zu k %zu: out[%zu][%zu] = %a, not %a", a->m, a->n, a->k, i,
                        j, got, (double)bits);
                return false;
            }
            const double ratio = fabs(got - expected) / bound;
            if (ratio > env->worst)
                env->worst = ratio;
            if (!(ratio <= 1)) {
                kc_fail(env, "m %zu n %zu k %zu: out[%zu][%zu] = %.9g, not %.9g +- %.2g", a->m,
                        a->n, a->k, i, j, got, expected, bound);
                return false;
            }
        }
        const uint8_t *gap = (const uint8_t *)(a->out + i * a->out_stride + a->n);
        for (size_t b = 0; i + 1 < a->m && b < (a->out_stride - a->n) * sizeof(float); b++)
            if (gap[b] != 0xa5) {
                kc_fail(env, "wrote between rows of out, n %zu", a->n);
                return false;
            }
    }
    return true;
}

/* Checks that the bits do not depend on the number of rows per call, with one panel per call. */
static bool check_bits(struct kc_env *env, const struct problem *p, linear_kernel *kernel)
{
    static const size_t row_counts[] = { 1, 2, 5, 16, 17, 64 };
    const struct qr_linear_kernel_args *a = &p->a;
    for (size_t t = 0; t < sizeof row_counts / sizeof row_counts[0]; t++) {
        struct qr_linear_kernel_args b = *a;
        b.out = rows_at_guard(a->m, a->n, a->n, sizeof(float));
        b.out_stride = a->n;
        for (size_t i = 0; i < a->m; i += row_counts[t])
            for (size_t j = 0; j < a->n; j += p->w->panel_rows) {
                struct qr_linear_kernel_args c = b;
                c.m = a->m - i < row_counts[t] ? a->m - i : row_counts[t];
                c.n = a->n - j < p->w->panel_rows ? a->n - j : p->w->panel_rows;
                c.w = p->w->data + j / p->w->panel_rows * p->w->panel_bytes;
                c.out = b.out + i * a->n + j;
                c.bias = a->bias ? a->bias + j : NULL;
                c.x = a->x ? a->x + i * a->x_stride : NULL;
                c.x_bf16 = a->x_bf16 ? a->x_bf16 + i * a->x_bf16_stride : NULL;
                c.q = a->q ? a->q + i * a->q_stride : NULL;
                c.half_sums = a->half_sums ? a->half_sums + 2 * i * a->q_stride : NULL;
                kernel(&c);
            }
        for (size_t i = 0; i < a->m; i++)
            if (!kc_same_bits(b.out + i * a->n, a->out + i * a->out_stride, a->n)) {
                kc_fail(env, "row %zu of %zu differs with %zu rows per call, n %zu k %zu", i, a->m,
                        row_counts[t], a->n, a->k);
                return false;
            }
    }
    return true;
}

/* Checks that sums from tables, and sums that start from delta_sums, have the bits of products, row
 * by row. */
static void check_sum_tables(struct kc_env *env, const struct problem *p, linear_kernel *kernel)
{
    const struct qr_linear_kernel_args *a = &p->a;
    const size_t blocks = a->k / 32;
    const bool tables_used = p->type == QR_WEIGHT_Q1_0 && env->k->sum_tables,
               delta_used = p->type == QR_WEIGHT_IQ1_M && env->k->delta_sums;
    if (p->mode != MODE_Q8 || !(tables_used || delta_used))
        return;
    uint8_t *tables = kc_buffer_end(blocks * env->k->sum_table_bytes);
    int32_t *delta = kc_buffer_end(blocks * QR_DELTA_SUMS * sizeof *delta);
    float *out = kc_buffer_end(a->n * sizeof *out);
    for (size_t i = 0; i < a->m && !env->failures; i++) {
        struct qr_linear_kernel_args row = *a;
        row.m = 1;
        row.q = a->q + i * a->q_stride;
        row.half_sums = a->half_sums + 2 * i * a->q_stride;
        row.out = out;
        row.sum_tables = tables_used ? tables : NULL;
        row.delta_sums = delta_used ? delta : NULL;
        if (tables_used)
            env->k->sum_tables(tables, row.q, blocks);
        else
            env->k->delta_sums(delta, row.q, blocks);
        kernel(&row);
        if (!kc_same_bits(out, a->out + i * a->out_stride, a->n))
            kc_fail(env, "row %zu differs with tables of sums, n %zu k %zu", i, a->n, a->k);
    }
    if (!kc_intact(tables) || !kc_intact(delta) || !kc_intact(out))
        kc_fail(env, "wrote outside the tables or out, n %zu k %zu", a->n, a->k);
}

/* Calls the kernel without the form of bf16 activations that it must not read. */
static void call(const struct kc_env *env, enum mode mode, linear_kernel *kernel,
                 struct qr_linear_kernel_args a)
{
    if (mode == MODE_BF16 && env->k->native_bf16_reads_f32)
        a.x_bf16 = NULL;
    else if (mode == MODE_BF16)
        a.x = NULL;
    kernel(&a);
}

static void check_kernel(struct kc_env *env, enum qr_weight_type type, enum mode mode,
                         linear_kernel *kernel)
{
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        struct problem p;
        if (!make_problem(env, type, mode, &p))
            return;
        p.a.out = rows_at_guard(p.a.m, p.a.out_stride, p.a.n, sizeof(float));
        call(env, mode, kernel, p.a);
        if (check_values(env, &p) && !kc_intact(p.a.out))
            kc_fail(env, "wrote outside out, n %zu", p.a.n);
        if (!env->failures && check_bits(env, &p, kernel))
            check_sum_tables(env, &p, kernel);
        kc_release();
    }
}

/* Checks that denormal inputs and results count as zero in bf16 x bf16 (N3). */
static void check_flush(struct kc_env *env, linear_kernel *kernel)
{
    static const uint16_t tiny = 0x0040, small = 0x0080, half = 0x3f00, one = 0x3f80, big = 0x7f00;
    const struct {
        uint16_t x[2], w[2];
        float out;
    } cases[] = {
        { { one, 0 }, { tiny, 0 }, 0 },
        { { 0, big }, { 0, tiny }, 0 },
        { { tiny, 0 }, { big, 0 }, 0 },
        { { half, 0 }, { small, 0 }, 0 },
        { { one, 0 }, { small, 0 }, 0x1p-126f },
        { { half, half }, { small, small }, 0 }, /* each partial result is flushed */
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        _Alignas(64) uint16_t w[64][2] = { { 0 } };
        const float wide[2] = { kc_bf16_value(cases[c].x[0]), kc_bf16_value(cases[c].x[1]) };
        float out;
        memcpy(w[0], cases[c].w, sizeof w[0]);
        kernel(&(struct qr_linear_kernel_args){ .w = w,
                                                .panel_bytes = sizeof w,
                                                .out = &out,
                                                .out_stride = 1,
                                                .m = 1,
                                                .n = 1,
                                                .k = 2,
                                                .x_bf16 = cases[c].x,
                                                .x_bf16_stride = 2,
                                                .x = wide,
                                                .x_stride = 2 });
        if (out != cases[c].out)
            kc_fail(env, "denormal case %zu: %g instead of %g", c, (double)out,
                    (double)cases[c].out);
    }
}

#define CHECK_LINEAR(member, TYPE, MODE)                                                           \
    static void check_##member(struct kc_env *env, kc_fn fn)                                       \
    {                                                                                              \
        check_kernel(env, QR_WEIGHT_##TYPE, MODE, (linear_kernel *)fn);                            \
    }
CHECK_LINEAR(linear_f32_f32, F32, MODE_F32)
CHECK_LINEAR(linear_f32_f16, F16, MODE_F32)
CHECK_LINEAR(linear_f32_bf16, BF16, MODE_F32)
#define X(name, NAME, ...) CHECK_LINEAR(linear_f32_##name, NAME, MODE_F32)
QR_QUANT_TYPES(X)
#undef X
#define X(name, NAME, ...) CHECK_LINEAR(linear_q8_##name, NAME, MODE_Q8)
QR_INTEGER_TYPES(X)
#undef X

static void check_native(struct kc_env *env, kc_fn fn)
{
    check_flush(env, (linear_kernel *)fn);
    if (!env->failures)
        check_kernel(env, QR_WEIGHT_BF16, MODE_BF16, (linear_kernel *)fn);
}

const struct kc_checker kc_checkers_linear[] = {
    { "linear_f32_f32", check_linear_f32_f32 },
    { "linear_f32_f16", check_linear_f32_f16 },
    { "linear_f32_bf16", check_linear_f32_bf16 },
    { "linear_native_bf16", check_native },
#define X(name, ...) { "linear_f32_" #name, check_linear_f32_##name },
    QR_QUANT_TYPES(X)
#undef X
#define X(name, ...) { "linear_q8_" #name, check_linear_q8_##name },
        QR_INTEGER_TYPES(X)
#undef X
            { NULL, NULL },
};
