/* SPDX-License-Identifier: Apache-2.0 */
/* test_linear.c - the matmul driver: equal bits for every number of rows and threads. */
#include "base/half.h"
#include "base/team.h"
#include "kernels/dispatch.h"
#include "linear/linear.h"
#include "quire_cmocka.h"
#include <math.h>

static uint32_t rng = 1;
static uint32_t random_u32(void)
{
    rng = rng * 1664525u + 1013904223u;
    return rng >> 8;
}
static float random_f32(void) { return (float)random_u32() * 0x1p-23f - 1; }

/* At least one type for each kind of panel, scale and dot product. */
static const enum qr_weight_type types[] = {
    QR_WEIGHT_F32,      QR_WEIGHT_F16,     QR_WEIGHT_BF16,        QR_WEIGHT_Q8_0,
    QR_WEIGHT_Q4_1,     QR_WEIGHT_Q2_K,    QR_WEIGHT_Q6_K,        QR_WEIGHT_MXFP4,
    QR_WEIGHT_INT4_128, QR_WEIGHT_INT8_32, QR_WEIGHT_F8_E4M3_128, QR_WEIGHT_NF4_64
};
enum { N_TYPES = sizeof types / sizeof types[0], N = 83, MAX_M = 512 };

static size_t k_of(enum qr_weight_type type)
{
    const size_t block = qr_weight_type_info(type)->block_elems;
    return block == 1 ? 301 : block < 256 ? 9 * block : 512;
}

/* Random bytes with bounded floating-point fields: bit 6 of every second byte is 0, which bounds
 * the exponents of f16 and f32 fields; integer codes stay random. MXFP4 has its exponent in byte
 * 0. */
static struct qr_packed *random_weight(enum qr_weight_type type, size_t n, size_t k)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w;
    assert_status(QUIRE_OK, qr_packed_create(type, n, k, NULL, &w, &err));
    uint8_t *raw = malloc(n * w->row_bytes);
    assert_non_null(raw);
    for (size_t i = 0; i < n * w->row_bytes; i++)
        raw[i] = (uint8_t)random_u32() & (i % 2 ? 0xbf : 0xff);
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    for (size_t i = 0; type >= QR_WEIGHT_FIRST_HF && i < n * w->row_bytes; i += info->block_bytes) {
        const float d = random_f32();
        memcpy(raw + i, &d, sizeof d);
    }
    for (size_t i = 0; type == QR_WEIGHT_MXFP4 && i < n * w->row_bytes; i += 17)
        raw[i] = (uint8_t)(110 + random_u32() % 30);
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, n, raw, &err));
    free(raw);
    return w;
}

static float *random_rows(size_t m, size_t k)
{
    float *x = malloc(m * k * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < m * k; i++)
        x[i] = random_f32();
    return x;
}

/* A team of `size` whose threads run one after the other: the first one takes all units. */
static void run_team(const struct qr_linear_args *args, const struct qr_kernels *kernels,
                     uint32_t size)
{
    struct qr_work_steal_counters counters[8] = { 0 };
    const size_t bytes = 3 * qr_unpacked_bytes(args->w->k) / 2; /* two panels do not fit */
    struct qr_linear_args own = *args;
    struct qr_unpacked unpacked;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_true(size <= 8);
    assert_non_null(memory);
    qr_unpacked_init(&unpacked, memory, bytes / 64 * 64);
    own.unpacked = &unpacked;
    assert_status(QUIRE_OK, qr_linear_check(&own, kernels, &(struct quire_error)QUIRE_ERROR_INIT));
    for (uint32_t rank = 0; rank < size; rank++)
        qr_linear_part(&own, 1, kernels, counters,
                       &(struct quire_team){ .rank = rank, .size = size });
    free(memory);
}

/* Converts the m rows at x and multiplies them. */
static void multiply(const struct qr_packed *w, const float *x, size_t m, const float *bias,
                     enum quire_compute compute, const struct qr_kernels *kernels, uint32_t team,
                     float *out)
{
    struct qr_act act;
    const unsigned forms = qr_linear_act_forms(w, compute, kernels, team);
    size_t bytes;
    assert_true(qr_act_bytes(forms, m, w->k, &bytes));
    void *memory = aligned_alloc(64, bytes + 64);
    assert_non_null(memory);
    qr_act_init(&act, forms, x, w->k, m, w->k, memory);
    for (uint32_t rank = 0; rank < team; rank++)
        qr_act_convert_part(&act, kernels, &(struct quire_team){ .rank = rank, .size = team });
    const struct qr_linear_args args = {
        .w = w, .x = &act, .out = out, .out_stride = w->n, .bias = bias, .compute = compute
    };
    run_team(&args, kernels, team);
    free(memory);
}

static void check_level(const struct qr_kernels *kernels, enum qr_weight_type type,
                        enum quire_compute compute)
{
    static const size_t ms[] = { 1, 2, 5, 16, 17, 64, MAX_M };
    static const uint32_t teams[] = { 1, 2, 3, 7 };
    struct qr_packed *w = random_weight(type, N, k_of(type));
    float *x = random_rows(MAX_M, w->k), *bias = random_rows(1, N);
    float *want = malloc(MAX_M * N * sizeof *want), *got = malloc(MAX_M * N * sizeof *got);
    assert_true(want && got);
    multiply(w, x, MAX_M, bias, compute, kernels, 1, want);
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof ms / sizeof ms[0]; s++) {
            const size_t m = ms[s], i0 = MAX_M - m;
            if (strcmp(kernels->level, "generic") == 0 && m == MAX_M && t > 1)
                continue; /* slow, and covered by the other cases */
            memset(got, 0xff, m * N * sizeof *got);
            multiply(w, x + i0 * w->k, m, bias, compute, kernels, teams[t], got);
            if (memcmp(got, want + i0 * N, m * N * sizeof *got) != 0)
                fail_msg("%s, type %s, compute %d: %zu rows on %u threads differ", kernels->level,
                         qr_weight_type_info(type)->name, (int)compute, m, (unsigned)teams[t]);
        }
    free(want);
    free(got);
    free(x);
    free(bias);
    qr_packed_destroy(w);
}

static void is_batch_and_thread_invariant(void **state)
{
    (void)state;
    for (int level = 0; qr_level_name(level); level++) {
        const struct qr_kernels *kernels = qr_level_table(level);
        if (!kernels) {
            printf("skipped level %s: this CPU lacks it\n", qr_level_name(level));
            continue;
        }
        for (int t = 0; t < N_TYPES; t++) {
            check_level(kernels, types[t], QUIRE_COMPUTE_NATIVE);
            if (qr_linear_act_form(types[t], QUIRE_COMPUTE_NATIVE, kernels) != QR_ACT_F32)
                check_level(kernels, types[t], QUIRE_COMPUTE_F32);
            if (types[t] != QR_WEIGHT_F32 && types[t] != QR_WEIGHT_BF16)
                check_level(kernels, types[t], QUIRE_COMPUTE_THROUGHPUT);
        }
    }
}

/* One row of enough outputs per thread multiplies by tables of sums, two rows do not. */
static void check_sum_tables(enum qr_weight_type type)
{
    enum { K = 768, N_OUT = 1112 }; /* neither whole panels nor pairs of panels */
    struct qr_packed *w = random_weight(type, N_OUT, K);
    float *x = random_rows(2, K), *bias = random_rows(1, N_OUT), *both = random_rows(2, N_OUT),
          *one = random_rows(1, N_OUT);
    for (int level = 0; qr_level_name(level); level++) {
        const struct qr_kernels *kernels = qr_level_table(level);
        if (!kernels)
            continue;
        multiply(w, x, 2, bias, QUIRE_COMPUTE_NATIVE, kernels, 1, both);
        for (uint32_t team = 1; team <= 2; team++) {
            const unsigned forms = qr_linear_act_forms(w, QUIRE_COMPUTE_NATIVE, kernels, team);
            assert_int_equal((forms & QR_ACT_Q8_SUMS) != 0,
                             type == QR_WEIGHT_Q1_0 && kernels->sum_tables &&
                                 N_OUT / team >= kernels->sum_tables_min_outputs);
            assert_int_equal((forms & QR_ACT_Q8_DELTA) != 0,
                             type == QR_WEIGHT_IQ1_M && kernels->delta_sums);
            assert_false(qr_linear_act_forms(w, QUIRE_COMPUTE_NATIVE, kernels, N_OUT) &
                         QR_ACT_Q8_SUMS);
            for (size_t i = 0; i < 2; i++) {
                memset(one, 0xff, N_OUT * sizeof *one);
                multiply(w, x + i * K, 1, bias, QUIRE_COMPUTE_NATIVE, kernels, team, one);
                assert_memory_equal(one, both + i * N_OUT, N_OUT * sizeof *one);
            }
        }
    }
    free(x);
    free(bias);
    free(both);
    free(one);
    qr_packed_destroy(w);
}

static void sum_tables_change_no_bits(void **state)
{
    (void)state;
    check_sum_tables(QR_WEIGHT_Q1_0);
    check_sum_tables(QR_WEIGHT_IQ1_M);
}

static const struct qr_kernels *best(void)
{
    const struct qr_kernels *kernels;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &kernels, &err));
    return kernels;
}

/* Rows so long that GEMM takes fewer at a time have the bits that they have alone. */
static void long_rows_are_batch_invariant(void **state)
{
    (void)state;
    enum { K = 16384, M = 150, N_OUT = 40 };
    struct qr_packed *w = random_weight(QR_WEIGHT_Q4_0, N_OUT, K);
    float *x = random_rows(M, K), *all = random_rows(M, N_OUT), *alone = random_rows(1, N_OUT);
    for (uint32_t team = 1; team <= 3; team += 2) {
        memset(all, 0xff, M * N_OUT * sizeof *all);
        multiply(w, x, M, NULL, QUIRE_COMPUTE_NATIVE, best(), team, all);
        for (size_t i = 0; i < M; i++) {
            multiply(w, x + i * K, 1, NULL, QUIRE_COMPUTE_NATIVE, best(), 1, alone);
            assert_memory_equal(all + i * N_OUT, alone, N_OUT * sizeof *alone);
        }
    }
    qr_packed_destroy(w);
    free(x);
    free(all);
    free(alone);
}

static uint16_t round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Compute mode throughput has the bits of a bf16 weight with the rounded values. */
static void throughput_mode_is_that_of_bf16_weights(void **state)
{
    (void)state;
    enum { M = 20 };
    struct quire_error err = QUIRE_ERROR_INIT;
    for (int t = 0; t < N_TYPES; t++) {
        struct qr_packed *w = random_weight(types[t], N, k_of(types[t])), *rounded;
        float *x = random_rows(M, w->k), *bias = random_rows(1, N), *row = random_rows(1, w->k);
        float *want = random_rows(M, N), *out = random_rows(M, N);
        uint16_t *raw = malloc(N * w->k * sizeof *raw);
        assert_non_null(raw);
        for (size_t j = 0; j < N; j++) {
            qr_packed_unpack_row(w, j, row);
            for (size_t k = 0; k < w->k; k++)
                raw[j * w->k + k] = round_bf16(row[k]);
        }
        assert_status(QUIRE_OK, qr_packed_create(QR_WEIGHT_BF16, N, w->k, NULL, &rounded, &err));
        assert_status(QUIRE_OK, qr_packed_pack_rows(rounded, 0, N, raw, &err));
        multiply(rounded, x, M, bias, QUIRE_COMPUTE_NATIVE, best(), 1, want);
        multiply(w, x, M, bias, QUIRE_COMPUTE_THROUGHPUT, best(), 2, out);
        if (types[t] == QR_WEIGHT_F32) /* not rounded */
            multiply(w, x, M, bias, QUIRE_COMPUTE_F32, best(), 1, want);
        assert_memory_equal(out, want, M * N * sizeof *out);
        qr_packed_destroy(w);
        qr_packed_destroy(rounded);
        free(x);
        free(bias);
        free(row);
        free(want);
        free(out);
        free(raw);
    }
}

/* A thread that multiplies two weights in turns, with memory for one panel, for one and a half, and
 * for two. */
static void unpacked_panels_do_not_mix(void **state)
{
    (void)state;
    enum { K = 256, M = 7 };
    struct qr_packed *w[2] = { random_weight(QR_WEIGHT_Q4_0, N, K),
                               random_weight(QR_WEIGHT_Q8_0, N, K) };
    float *x = random_rows(M, K), *out = random_rows(M, N), *want[2];
    struct qr_act act;
    size_t bytes;
    const unsigned forms = qr_linear_act_forms(w[0], QUIRE_COMPUTE_THROUGHPUT, best(), 1);
    assert_true(qr_act_bytes(forms, M, K, &bytes));
    void *form = aligned_alloc(64, bytes);
    uint8_t *memory = aligned_alloc(64, 2 * qr_unpacked_bytes(K));
    assert_true(form && memory);
    qr_act_init(&act, forms, x, K, M, K, form);
    qr_act_convert_part(&act, best(), &(struct quire_team){ .size = 1 });
    for (int i = 0; i < 2; i++) {
        want[i] = random_rows(M, N);
        multiply(w[i], x, M, NULL, QUIRE_COMPUTE_THROUGHPUT, best(), 1, want[i]);
    }
    for (size_t halves = 2; halves <= 4; halves++) {
        struct qr_unpacked unpacked;
        qr_unpacked_init(&unpacked, memory, halves * qr_unpacked_bytes(K) / 2);
        for (size_t i = 0; i < 12; i++) {
            const struct qr_linear_args args = { .w = w[i % 2],
                                                 .x = &act,
                                                 .out = out,
                                                 .out_stride = N,
                                                 .compute = QUIRE_COMPUTE_THROUGHPUT,
                                                 .unpacked = &unpacked };
            /* one panel and the same once more, others, and all */
            const struct qr_linear_block b = { i < 4 ? 0 : 64, i < 8 ? 80 : N, 0, M };
            qr_linear_run_block(&args, &b, best());
            for (size_t r = 0; r < M; r++)
                assert_memory_equal(out + r * N, want[i % 2] + r * N + b.j0,
                                    (b.j1 - b.j0) * sizeof *out);
        }
    }
    for (int i = 0; i < 2; i++) {
        qr_packed_destroy(w[i]);
        free(want[i]);
    }
    free(x);
    free(out);
    free(form);
    free(memory);
}

/* The driver against unpacked rows and sums in double. */
static void f32_mode_matches_dot_products(void **state)
{
    (void)state;
    for (int t = 0; t < N_TYPES; t++) {
        struct qr_packed *w = random_weight(types[t], N, k_of(types[t]));
        enum { M = 3 };
        float *x = random_rows(M, w->k), *out = random_rows(M, N), *row = random_rows(1, w->k);
        multiply(w, x, M, NULL, QUIRE_COMPUTE_F32, best(), 2, out);
        for (size_t j = 0; j < N; j++) {
            qr_packed_unpack_row(w, j, row);
            for (size_t i = 0; i < M; i++) {
                double sum = 0, size = 0;
                for (size_t k = 0; k < w->k; k++) {
                    sum += (double)row[k] * (double)x[i * w->k + k];
                    size += fabs((double)row[k] * (double)x[i * w->k + k]);
                }
                assert_true(fabs(sum - (double)out[i * N + j]) <=
                            2 * (double)w->k * 0x1p-24 * size);
            }
        }
        free(x);
        free(out);
        free(row);
        qr_packed_destroy(w);
    }
}

/* NaN in an activation row changes only the outputs of that row. */
static void nan_affects_only_its_row(void **state)
{
    (void)state;
    for (int t = 0; t < N_TYPES; t++) {
        struct qr_packed *w = random_weight(types[t], N, k_of(types[t]));
        enum { M = 5 };
        float *x = random_rows(M, w->k), *want = random_rows(M, N), *out = random_rows(M, N);
        multiply(w, x, M, NULL, QUIRE_COMPUTE_NATIVE, best(), 1, want);
        x[2 * w->k + 100] = NAN;
        multiply(w, x, M, NULL, QUIRE_COMPUTE_NATIVE, best(), 1, out);
        for (size_t j = 0; j < N; j++)
            assert_true(isnan(out[2 * N + j]));
        assert_memory_equal(out, want, 2 * N * sizeof *out);
        assert_memory_equal(out + 3 * N, want + 3 * N, 2 * N * sizeof *out);
        free(x);
        free(want);
        free(out);
        qr_packed_destroy(w);
    }
}

/* At every level, also where it takes the kernel of another, as their forms may differ. */
static void bf16_weights_read_rounded_rows(void **state)
{
    (void)state;
    enum { K = 257, M = 14 };
    struct qr_packed *w = random_weight(QR_WEIGHT_BF16, N, K);
    float *x = random_rows(M, K), *rounded = random_rows(M, K), *out[2];
    for (size_t i = 0; i < M * K; i++)
        rounded[i] = qr_bf16_to_f32(qr_f32_to_bf16(x[i]));
    for (int i = 0; i < 2; i++)
        out[i] = random_rows(M, N);
    for (int level = 0; qr_level_name(level); level++) {
        const struct qr_kernels *kernels = qr_level_table(level);
        for (size_t m = 1; kernels && m <= M; m += 13) {
            multiply(w, x, m, NULL, QUIRE_COMPUTE_NATIVE, kernels, 1, out[0]);
            multiply(w, rounded, m, NULL, QUIRE_COMPUTE_NATIVE, kernels, 1, out[1]);
            assert_memory_equal(out[0], out[1], m * N * sizeof(float));
            multiply(w, x, m, NULL, QUIRE_COMPUTE_F32, kernels, 1, out[1]);
            assert_memory_not_equal(out[0], out[1], m * N * sizeof(float));
        }
    }
    free(x);
    free(rounded);
    for (int i = 0; i < 2; i++)
        free(out[i]);
    qr_packed_destroy(w);
}

static void forms_stay_in_their_memory(void **state)
{
    (void)state;
    const unsigned sums = best()->sum_tables ? QR_ACT_Q8_SUMS : 0,
                   delta = best()->delta_sums ? QR_ACT_Q8_DELTA : 0,
                   forms = QR_ACT_F32 | QR_ACT_BF16 | QR_ACT_BF16_F32 | QR_ACT_Q8 | sums | delta;
    for (size_t m = 0; m < 4; m++)
        for (size_t k = 32; k <= 320; k += 32) {
            size_t bytes;
            assert_true(qr_act_bytes(forms, m, k, &bytes));
            assert_int_equal(bytes % 64, 0);
            uint8_t *memory = aligned_alloc(64, bytes + 64);
            float *x = random_rows(m + 1, k + 5);
            struct qr_act act;
            assert_non_null(memory);
            memset(memory + bytes, 0x5a, 64);
            qr_act_init(&act, forms, x, k + 5, m, k, memory);
            for (uint32_t rank = 0; rank < 3; rank++)
                qr_act_convert_part(&act, best(), &(struct quire_team){ .rank = rank, .size = 3 });
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < k; j++) {
                    const float v = x[i * (k + 5) + j], d = act.q[i * act.q_stride + j / 32].d;
                    assert_true(fabsf(v - d * act.q[i * act.q_stride + j / 32].q[j % 32]) <=
                                0.501f * d);
                    const uint32_t wide = (uint32_t)act.bf16[i * act.bf16_stride + j] << 16;
                    float b;
                    memcpy(&b, &wide, sizeof b);
                    assert_true(fabsf(v - b) <= fabsf(v) * 0x1p-8f);
                    assert_true(act.bf16_f32[i * act.bf16_f32_stride + j] == b);
                }
            for (size_t i = 0; i < 64; i++)
                assert_int_equal(memory[bytes + i], 0x5a);
            assert_int_equal(act.bf16_stride % 64, 32); /* an odd number of cache lines */
            assert_int_equal(act.bf16_f32_stride % 32, 16);
            assert_int_equal(act.sum_tables != NULL, sums && m == 1);
            assert_int_equal(act.delta_sums != NULL, delta && m == 1);
            qr_act_init(&act, forms | QR_ACT_DENSE, x, k + 5, m, k, memory);
            assert_int_equal(act.bf16_stride, k);
            free(memory);
            free(x);
        }
}

static void act_bytes_rejects_bad_sizes(void **state)
{
    (void)state;
    size_t bytes = 7;
    assert_false(qr_act_bytes(QR_ACT_Q8, 1, 33, &bytes));
    assert_false(qr_act_bytes(QR_ACT_BF16, SIZE_MAX / 4, 64, &bytes));
    assert_false(qr_act_bytes(QR_ACT_BF16, 1, SIZE_MAX, &bytes));
    assert_false(qr_act_bytes(QR_ACT_Q8 | QR_ACT_Q8_SUMS, 1, SIZE_MAX / 32, &bytes));
    assert_int_equal(bytes, 7);
    assert_true(qr_act_bytes(QR_ACT_F32, 100, 33, &bytes));
    assert_int_equal(bytes, 0);
}

static void check_names_the_bad_argument(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w = random_weight(QR_WEIGHT_Q8_0, 40, 64);
    float *x = random_rows(2, 64), out[80];
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, x, 64, 2, 64, NULL);
    const struct qr_linear_args good = {
        .w = w, .x = &act, .out = out, .out_stride = 40, .compute = QUIRE_COMPUTE_F32
    };
    struct qr_linear_args a = good;
    assert_status(QUIRE_OK, qr_linear_check(&a, best(), &err));
    a.compute = QUIRE_COMPUTE_NATIVE;
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&a, best(), &err));
    assert_non_null(strstr(err.msg, "Q8_0"));
    a = good;
    a.out_stride = 39;
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&a, best(), &err));
    a = good;
    a.out = NULL;
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&a, best(), &err));
    a = good;
    a.compute = (enum quire_compute)9;
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&a, best(), &err));
    a.compute = QUIRE_COMPUTE_THROUGHPUT; /* without memory for a panel */
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&a, best(), &err));
    act.k = 32;
    assert_status(QUIRE_E_INVALID_ARG, qr_linear_check(&good, best(), &err));
    free(x);
    qr_packed_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_batch_and_thread_invariant),
        cmocka_unit_test(sum_tables_change_no_bits),
        cmocka_unit_test(long_rows_are_batch_invariant),
        cmocka_unit_test(throughput_mode_is_that_of_bf16_weights),
        cmocka_unit_test(unpacked_panels_do_not_mix),
        cmocka_unit_test(f32_mode_matches_dot_products),
        cmocka_unit_test(nan_affects_only_its_row),
        cmocka_unit_test(bf16_weights_read_rounded_rows),
        cmocka_unit_test(forms_stay_in_their_memory),
        cmocka_unit_test(act_bytes_rejects_bad_sizes),
        cmocka_unit_test(check_names_the_bad_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
