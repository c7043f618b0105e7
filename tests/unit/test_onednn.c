/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn.c - the oneDNN backend: results against quire and double, threads, memory. */
#include "base/half.h"
#include "base/team.h"
#include "kernels/dispatch.h"
#include "linear/onednn.h"
#include "quire_cmocka.h"
#include <dirent.h>
#include <math.h>
#ifdef QUIRE_WITH_OPENMP
#include <omp.h>
#endif

static uint32_t rng = 1;
static float random_f32(void)
{
    rng = rng * 1664525u + 1013904223u;
    return (float)(rng >> 8) * 0x1p-23f - 1;
}

static struct qr_onednn *onednn;

/* Use as: if (!need_onednn()) skip(); */
static bool need_onednn(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (onednn || qr_onednn_create(NULL, &onednn, &err) == QUIRE_OK)
        return true;
    assert_int_equal(err.code, QUIRE_E_UNSUPPORTED);
    printf("skipped: %s\n", err.msg);
    return false;
}

static const struct qr_kernels *best(void)
{
    const struct qr_kernels *kernels;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &kernels, &err));
    return kernels;
}

/* One matmul with its oracle. Values are representable in the weights' type. */
struct problem {
    enum qr_weight_type type;
    size_t m, n, k;
    uint8_t *raw;        /* [n][k] as a file stores them */
    float *w, *x, *bias; /* [n][k], [m][k], [n] */
    double *want, *size; /* [m][n] sums in double, and sums of magnitudes */
    struct qr_packed *theirs, *ours;
    struct qr_act act;
    void *act_memory;
};

static float to_type(enum qr_weight_type type, float v)
{
    return type == QR_WEIGHT_F32 ? v : qr_bf16_to_f32(qr_f32_to_bf16(v));
}

static void fill_values(struct problem *p)
{
    const size_t value = p->type == QR_WEIGHT_F32 ? 4 : 2;
    for (size_t i = 0; i < p->n * p->k; i++) {
        p->w[i] = to_type(p->type, random_f32());
        memcpy(p->raw + i * value, (const uint8_t *)&p->w[i] + 4 - value, value);
    }
    for (size_t i = 0; i < p->m * p->k; i++)
        p->x[i] = to_type(p->type, random_f32());
    for (size_t j = 0; j < p->n; j++)
        p->bias[j] = random_f32();
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            double sum = p->bias[j], size = fabs(sum);
            for (size_t k = 0; k < p->k; k++) {
                const double term = (double)p->x[i * p->k + k] * (double)p->w[j * p->k + k];
                sum += term;
                size += fabs(term);
            }
            p->want[i * p->n + j] = sum;
            p->size[i * p->n + j] = size;
        }
}

/* False when oneDNN has no code for the type on this CPU. */
static bool make_problem(struct problem *p, enum qr_weight_type type, size_t m, size_t n, size_t k)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t bytes;
    *p = (struct problem){ .type = type, .m = m, .n = n, .k = k };
    const quire_status s = qr_packed_create_onednn(onednn, type, n, k, NULL, &p->theirs, &err);
    if (s == QUIRE_E_UNSUPPORTED) {
        printf("skipped type %s: %s\n", qr_weight_type_info(type)->name, err.msg);
        return false;
    }
    assert_status(QUIRE_OK, s);
    assert_status(QUIRE_OK, qr_packed_create(type, n, k, NULL, &p->ours, &err));
    p->raw = malloc(n * k * 4);
    p->w = malloc(n * k * sizeof *p->w);
    p->x = malloc(m * k * sizeof *p->x);
    p->bias = malloc(n * sizeof *p->bias);
    p->want = malloc(m * n * sizeof *p->want);
    p->size = malloc(m * n * sizeof *p->size);
    unsigned views = qr_linear_act_forms(p->theirs, QUIRE_COMPUTE_NATIVE, best(), 1);
    for (int i = 0; qr_level_name(i); i++) /* which other levels than the best read as well */
        if (qr_level_table(i))
            views |= qr_linear_act_forms(p->ours, QUIRE_COMPUTE_NATIVE, qr_level_table(i), 1);
    assert_true(qr_act_bytes(views, m, k, &bytes));
    p->act_memory = aligned_alloc(64, bytes + 64);
    assert_true(p->raw && p->w && p->x && p->bias && p->want && p->size && p->act_memory);
    fill_values(p);
    assert_status(QUIRE_OK, qr_packed_pack_rows(p->theirs, 0, n, p->raw, &err));
    assert_status(QUIRE_OK, qr_packed_pack_rows(p->ours, 0, n, p->raw, &err));
    qr_act_init(&p->act, views, p->x, k, m, k, p->act_memory);
    qr_act_convert_part(&p->act, best(), &(struct quire_team){ 0, 1, NULL });
    return true;
}

static void free_problem(struct problem *p)
{
    qr_packed_destroy(p->theirs);
    qr_packed_destroy(p->ours);
    free(p->raw);
    free(p->w);
    free(p->x);
    free(p->bias);
    free(p->want);
    free(p->size);
    free(p->act_memory);
}

static struct qr_linear_args args_of(const struct problem *p, const struct qr_packed *w, float *out,
                                     size_t stride)
{
    return (struct qr_linear_args){ .w = w,
                                    .x = &p->act,
                                    .out = out,
                                    .out_stride = stride,
                                    .bias = p->bias,
                                    .compute = QUIRE_COMPUTE_NATIVE };
}

static void check_sums(const struct problem *p, const float *out, size_t stride, const char *who)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            const double off = fabs((double)out[i * stride + j] - p->want[i * p->n + j]);
            if (!(off <= 2 * (double)(p->k + 1) * 0x1p-24 * p->size[i * p->n + j]))
                fail_msg("%s, %s, m %zu n %zu k %zu: out[%zu][%zu] is off by %g", who,
                         qr_weight_type_info(p->type)->name, p->m, p->n, p->k, i, j, off);
        }
}

/* oneDNN, for teams of several sizes, and the kernels of every level, against the oracle. */
static void check_problem(const struct problem *p)
{
    const size_t stride = p->n + 3;
    float *out = malloc(p->m * stride * sizeof *out);
    assert_non_null(out);
    for (uint32_t size = 1; size <= 7; size += 3) {
        memset(out, 0xff, p->m * stride * sizeof *out);
        const struct qr_linear_args args = args_of(p, p->theirs, out, stride);
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, qr_linear_check(&args, best(), &err));
        struct qr_work_steal_counters counters[7] = { 0 };
        for (uint32_t rank = 0; rank < size; rank++)
            qr_linear_part(&args, 1, best(), counters,
                           &(struct quire_team){ .rank = rank, .size = size });
        check_sums(p, out, stride, "oneDNN");
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = p->n; j < stride; j++)
                assert_memory_equal(&out[i * stride + j], "\xff\xff\xff\xff", 4);
    }
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *kernels = qr_level_table(i);
        if (!kernels)
            continue;
        const struct qr_linear_args args = args_of(p, p->ours, out, stride);
        const struct qr_linear_block all = { 0, p->n, 0, p->m };
        qr_linear_run_block(&args, &all, kernels);
        check_sums(p, out, stride, kernels->level);
    }
    free(out);
}

static void agrees_with_our_kernels(void **state)
{
    (void)state;
    static const enum qr_weight_type types[] = { QR_WEIGHT_F32, QR_WEIGHT_BF16 };
    static const size_t shapes[][3] = { { 1, 64, 64 },    { 1, 1, 1 },      { 3, 130, 33 },
                                        { 7, 65, 301 },   { 128, 40, 256 }, { 300, 63, 100 },
                                        { 17, 200, 1024 } };
    if (!need_onednn())
        skip();
    for (int t = 0; t < 2; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            struct problem p;
            if (!make_problem(&p, types[t], shapes[s][0], shapes[s][1], shapes[s][2]))
                break;
            check_problem(&p);
            free_problem(&p);
        }
}

static void unpacking_returns_the_packed_rows(void **state)
{
    (void)state;
    static const size_t ks[] = { 1, 2, 31, 64, 100, 257 };
    if (!need_onednn())
        skip();
    for (size_t i = 0; i < 2 * sizeof ks / sizeof ks[0]; i++) {
        struct problem p;
        float row[257];
        if (!make_problem(&p, i % 2 ? QR_WEIGHT_BF16 : QR_WEIGHT_F32, 1, 70, ks[i / 2]))
            continue;
        for (size_t j = 0; j < p.n; j++) {
            qr_packed_unpack_row(p.theirs, j, row);
            assert_memory_equal(row, p.w + j * p.k, p.k * sizeof *row);
        }
        free_problem(&p);
    }
}

/* Strided rows and a missing runner take other code paths and give the same sums. */
static void fallback_paths_agree(void **state)
{
    (void)state;
    if (!need_onednn())
        skip();
    for (int t = 0; t < 2; t++) {
        struct problem p;
        if (!make_problem(&p, t ? QR_WEIGHT_BF16 : QR_WEIGHT_F32, 9, 70, 100))
            continue;
        float *out = malloc(p.m * p.n * sizeof *out), *gaps = calloc(p.m * (p.k + 5), sizeof *gaps);
        assert_true(out && gaps);
        struct qr_linear_kernel_args a = {
            .w = p.theirs->data,
            .panel_bytes = p.theirs->panel_bytes,
            .bias = p.bias,
            .out = out,
            .out_stride = p.n,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .x = p.x,
            .x_stride = p.k,
            .x_bf16 = p.act.bf16,
            .x_bf16_stride = p.act.bf16_stride,
        };
        qr_onednn_multiply(p.theirs->onednn, NULL, &a);
        check_sums(&p, out, p.n, "by hand");
        if (p.type == QR_WEIGHT_F32) {
            for (size_t i = 0; i < p.m; i++)
                memcpy(gaps + i * (p.k + 5), p.x + i * p.k, p.k * sizeof *gaps);
            a.x = gaps;
            a.x_stride = p.k + 5;
            struct qr_onednn_runner *r = qr_onednn_acquire(p.theirs->onednn);
            assert_non_null(r);
            qr_onednn_multiply(p.theirs->onednn, r, &a);
            qr_onednn_release(r);
            check_sums(&p, out, p.n, "rows with gaps");
        }
        free(out);
        free(gaps);
        free_problem(&p);
    }
}

/* ---- memory ---- */

static quire_status make_and_run(const struct quire_allocator *a, struct quire_error *err)
{
    static float source[64 * 48], x[5 * 48], out[5 * 64];
    struct qr_onednn *o = NULL;
    struct qr_packed *w = NULL;
    struct qr_act act;
    quire_status s = qr_onednn_create(a, &o, err);
    if (s == QUIRE_OK)
        s = qr_packed_create_onednn(o, QR_WEIGHT_F32, 64, 48, a, &w, err);
    if (s == QUIRE_OK)
        s = qr_packed_pack_rows(w, 0, 64, source, err);
    if (s == QUIRE_OK) {
        qr_act_init(&act, QR_ACT_F32, x, 48, 5, 48, NULL);
        const struct qr_linear_args args = { .w = w, .x = &act, .out = out, .out_stride = 64 };
        const struct qr_linear_block all = { 0, 64, 0, 5 };
        out[319] = 1;
        qr_linear_run_block(&args, &all, best()); /* must work without memory */
        assert_true(out[319] == 0);
    }
    qr_packed_destroy(w);
    qr_onednn_destroy(o);
    return s;
}

static void handles_allocation_failures(void **state)
{
    (void)state;
    if (!need_onednn())
        skip();
    for (int forever = 0; forever < 2; forever++) {
        int failures = 0;
        for (size_t n = 1;; n++) {
            struct fail_alloc f;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, n, forever);
            const quire_status s = make_and_run(&f.hooks, &err);
            assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
            failures += s != QUIRE_OK;
            assert_int_equal(f.live_count, 0);
            if (f.calls < n)
                break;
        }
        assert_true(failures >= 5);
    }
}

/* Calls after the first one do not use the allocator. */
static void later_calls_allocate_nothing(void **state)
{
    (void)state;
    if (!need_onednn())
        skip();
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_onednn *o;
    const struct qr_onednn_matmul *p[2];
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_onednn_create(&f.hooks, &o, &err));
    assert_status(QUIRE_OK, qr_onednn_get_matmul(o, QR_WEIGHT_F32, 64, &p[0], &err));
    assert_status(QUIRE_OK, qr_onednn_get_matmul(o, QR_WEIGHT_F32, 96, &p[1], &err));
    size_t calls = 0;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 2; i++) {
            struct qr_onednn_runner *a = qr_onednn_acquire(p[i]), *b = qr_onednn_acquire(p[i]);
            assert_true(a && b && a != b);
            qr_onednn_release(b);
            qr_onednn_release(a);
        }
        if (step == 0)
            calls = f.calls;
        assert_int_equal(f.calls, calls);
        const struct qr_onednn_matmul *again;
        assert_status(QUIRE_OK, qr_onednn_get_matmul(o, QR_WEIGHT_F32, 96, &again, &err));
        assert_ptr_equal(again, p[1]);
    }
    qr_onednn_destroy(o);
    assert_int_equal(f.live_count, 0);
}

static void rejects_unsupported_weights(void **state)
{
    (void)state;
    if (!need_onednn())
        skip();
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w;
    assert_status(QUIRE_E_UNSUPPORTED,
                  qr_packed_create_onednn(onednn, QR_WEIGHT_Q8_0, 64, 64, NULL, &w, &err));
    assert_null(w);
    assert_non_null(strstr(err.msg, "Q8_0"));
    assert_status(QUIRE_E_UNSUPPORTED,
                  qr_packed_create_onednn(onednn, QR_WEIGHT_F16, 64, 64, NULL, &w, &err));
    assert_status(QUIRE_E_INVALID_ARG,
                  qr_packed_create_onednn(onednn, QR_WEIGHT_F32, 0, 64, NULL, &w, &err));
    assert_int_not_equal(
        qr_packed_create_onednn(onednn, QR_WEIGHT_F32, UINT64_MAX / 2, 64, NULL, &w, &err),
        QUIRE_OK);
    assert_int_not_equal(
        qr_packed_create_onednn(onednn, QR_WEIGHT_F32, 64, 1u << 30, NULL, &w, &err), QUIRE_OK);
    struct problem p;
    float out[64];
    if (!make_problem(&p, QR_WEIGHT_BF16, 1, 64, 64))
        return;
    struct qr_linear_args args = args_of(&p, p.theirs, out, 64);
    args.compute = QUIRE_COMPUTE_F32;
    assert_status(QUIRE_E_UNSUPPORTED, qr_linear_check(&args, best(), &err));
    free_problem(&p);
}

/* ---- threads ---- */

static int count_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

struct shared_job {
    struct qr_linear_args args;
    const struct qr_kernels *kernels;
    struct qr_work_steal_counters counters[3];
    int most_threads;
};

static void multiply_part(void *arg, const struct quire_team *team)
{
    struct shared_job *job = arg;
    for (int i = 0; i < 20; i++) {
        qr_linear_part(&job->args, 1, job->kernels, job->counters, team);
        quire_team_barrier(team);
    }
    if (quire_team_rank(team) == 0)
        job->most_threads = count_threads();
}

/* On both thread backends, concurrent calls start no threads of oneDNN. */
static void stays_on_calling_threads(void **state)
{
    (void)state;
    if (!need_onednn())
        skip();
    struct problem p;
    assert_true(make_problem(&p, QR_WEIGHT_F32, 200, 333, 128));
    float *out = malloc(p.m * p.n * sizeof *out);
    assert_non_null(out);
    static const enum quire_thread_backend backends[] = { QUIRE_THREADS_PTHREAD,
                                                          QUIRE_THREADS_OPENMP };
    for (int b = 0; b < 2; b++) { /* pthread first: OpenMP keeps its threads alive */
        struct quire_threads *threads;
        struct quire_threads_params tp;
        struct quire_error err = QUIRE_ERROR_INIT;
        quire_threads_params_init(&tp, sizeof tp);
        tp.backend = backends[b];
        tp.n_threads = 3;
        if (quire_threads_create(&tp, &threads, &err) != QUIRE_OK)
            continue;
#ifdef QUIRE_WITH_OPENMP
        omp_set_num_threads(5); /* the number of threads oneDNN would use by default */
#endif
        const int before = count_threads();
        struct shared_job job = { .args = args_of(&p, p.theirs, out, p.n), .kernels = best() };
        memset(out, 0xff, p.m * p.n * sizeof *out);
        assert_status(QUIRE_OK, quire_threads_run(threads, multiply_part, &job));
        check_sums(&p, out, p.n, "team of 3");
        if (backends[b] == QUIRE_THREADS_PTHREAD)
            assert_int_equal(job.most_threads, before);
        else
            assert_true(job.most_threads <= before + 2);
#ifdef QUIRE_WITH_OPENMP
        assert_int_equal(omp_get_max_threads(), 5); /* the caller's setting is restored */
#endif
        quire_threads_destroy(threads);
    }
    free(out);
    free_problem(&p);
}

static int finish(void **state)
{
    (void)state;
    qr_onednn_destroy(onednn);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_on_calling_threads), /* first: no other test has started threads */
        cmocka_unit_test(agrees_with_our_kernels),
        cmocka_unit_test(unpacking_returns_the_packed_rows),
        cmocka_unit_test(fallback_paths_agree),
        cmocka_unit_test(handles_allocation_failures),
        cmocka_unit_test(later_calls_allocate_nothing),
        cmocka_unit_test(rejects_unsupported_weights),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
