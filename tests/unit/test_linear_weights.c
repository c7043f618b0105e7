/* SPDX-License-Identifier: Apache-2.0 */
/* test_linear_weights.c - weight types, packing and unpacking of rows. */
#include "linear/dequantize.h"
#include "linear/packed.h"
#include "quire_cmocka.h"

static const enum qr_weight_type supported[] = {
    QR_WEIGHT_F32,      QR_WEIGHT_F16,        QR_WEIGHT_BF16,        QR_WEIGHT_Q4_0,
    QR_WEIGHT_Q4_1,     QR_WEIGHT_Q5_0,       QR_WEIGHT_Q5_1,        QR_WEIGHT_Q8_0,
    QR_WEIGHT_Q2_K,     QR_WEIGHT_Q3_K,       QR_WEIGHT_Q4_K,        QR_WEIGHT_Q5_K,
    QR_WEIGHT_Q6_K,     QR_WEIGHT_IQ4_NL,     QR_WEIGHT_IQ4_XS,      QR_WEIGHT_MXFP4,
    QR_WEIGHT_IQ3_XXS,  QR_WEIGHT_IQ3_S,      QR_WEIGHT_NVFP4,       QR_WEIGHT_IQ1_S,
    QR_WEIGHT_IQ1_M,    QR_WEIGHT_IQ2_XXS,    QR_WEIGHT_IQ2_XS,      QR_WEIGHT_IQ2_S,
    QR_WEIGHT_TQ1_0,    QR_WEIGHT_TQ2_0,      QR_WEIGHT_Q1_0,        QR_WEIGHT_Q2_0,
    QR_WEIGHT_INT4_32,  QR_WEIGHT_INT4_64,    QR_WEIGHT_INT4_128,    QR_WEIGHT_INT8_32,
    QR_WEIGHT_INT8_128, QR_WEIGHT_F8_E4M3_32, QR_WEIGHT_F8_E4M3_128, QR_WEIGHT_NF4_64,
};
enum { N_SUPPORTED = sizeof supported / sizeof supported[0] };

static uint32_t rng = 1;
static uint8_t random_byte(void)
{
    rng = rng * 1664525u + 1013904223u;
    return (uint8_t)(rng >> 24);
}

static void type_table(void **state)
{
    (void)state;
    int n = 0;
    for (uint32_t t = 0; t < 100; t++) {
        const struct qr_weight_type_info *info = qr_weight_type_info(t);
        n += info && info->supported;
        if (info)
            assert_true(info->name && info->block_elems > 0 && info->block_bytes > 0);
    }
    for (uint32_t t = QR_WEIGHT_FIRST_HF; qr_weight_type_info(t); t++)
        n++;
    assert_int_equal(n, N_SUPPORTED);
    for (int i = 0; i < N_SUPPORTED; i++)
        assert_true(qr_weight_type_info(supported[i])->supported);
    assert_string_equal(qr_weight_type_info(QR_WEIGHT_Q4_K)->name, "Q4_K");
    assert_string_equal(qr_weight_type_info(17)->name, "IQ2_XS");
    assert_null(qr_weight_type_info(4));
    assert_null(qr_weight_type_info(43));
    assert_null(qr_weight_type_info(QR_WEIGHT_FIRST_HF - 1));
    assert_null(qr_weight_type_info(QR_WEIGHT_NF4_64 + 1));
    assert_null(qr_weight_type_info(UINT32_MAX));
}

/* Types of other programs are refused by name, with the way out. */
static void foreign_types_are_named(void **state)
{
    static const struct {
        uint32_t type;
        const char *name, *words;
    } known[] = {
        { 137, "IQ2_K", "ik_llama.cpp; quantize the original" },
        { 141, "IQ6_K", "ik_llama.cpp; quantize the original" },
        { 144, "IQ4_KS", "ik_llama.cpp; quantize the original" },
        { 146, "IQ4_KSS", "ik_llama.cpp; quantize the original" },
        { 212, "Q4_K_R4", "repacked by ik_llama.cpp; use the file it was repacked from" },
        { 339, "IQ4_K_R4", "repacked by ik_llama.cpp; use the file it was repacked from" },
        { 33, "Q4_0_8_8", "use a Q4_0" },
        { 36, "I2_S", "TQ2_0" },
        { 4, "Q4_2", "withdrawn" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct qr_weight_type_foreign f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_packed *w;
        assert_true(qr_weight_type_foreign(known[i].type, &f));
        assert_string_equal(f.name, known[i].name);
        assert_non_null(strstr(f.why, known[i].words));
        assert_status(QUIRE_E_UNSUPPORTED,
                      qr_packed_create(known[i].type, 16, 256, NULL, &w, &err));
        assert_non_null(strstr(err.msg, known[i].name));
        assert_non_null(strstr(err.msg, known[i].words));
    }
    for (uint32_t t = 0; t < 1000; t++) {
        struct qr_weight_type_foreign f;
        if (qr_weight_type_info(t))
            assert_false(qr_weight_type_foreign(t, &f));
    }
    struct qr_weight_type_foreign f;
    assert_false(qr_weight_type_foreign(43, &f));
    assert_false(qr_weight_type_foreign(UINT32_MAX, &f));
}

static void row_bytes_are_exact(void **state)
{
    (void)state;
    size_t bytes;
    assert_true(qr_weight_row_bytes(QR_WEIGHT_Q6_K, 512, &bytes));
    assert_int_equal(bytes, 420);
    assert_true(qr_weight_row_bytes(QR_WEIGHT_BF16, 7, &bytes));
    assert_int_equal(bytes, 14);
    assert_false(qr_weight_row_bytes(QR_WEIGHT_Q6_K, 128, &bytes));
    assert_false(qr_weight_row_bytes(QR_WEIGHT_Q4_0, 33, &bytes));
    assert_false(qr_weight_row_bytes(QR_WEIGHT_F32, UINT64_MAX / 2, &bytes));
    assert_false(qr_weight_row_bytes(5, 32, &bytes));
}

/* ---- packing */

static size_t odd_k(enum qr_weight_type type)
{
    const size_t block = qr_weight_type_info(type)->block_elems;
    return block == 1 ? 67 : block < 256 ? 11 * block : 3 * block;
}

/* Packing preserves all bits of all formats; NaN scales are compared as bits too. */
static void rows_come_back_exactly(void **state)
{
    (void)state;
    for (int t = 0; t < N_SUPPORTED; t++)
        for (size_t n = 1; n <= 70; n += 23) {
            const size_t k = odd_k(supported[t]);
            struct quire_error err = QUIRE_ERROR_INIT;
            struct qr_packed *w;
            assert_status(QUIRE_OK, qr_packed_create(supported[t], n, k, NULL, &w, &err));
            uint8_t *raw = malloc(n * w->row_bytes);
            float *want = malloc(k * sizeof *want), *got = malloc(k * sizeof *got);
            assert_true(raw && want && got);
            for (size_t i = 0; i < n * w->row_bytes; i++)
                raw[i] = random_byte();
            assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, n, raw, &err));
            for (size_t r = 0; r < n; r++) {
                qr_weight_dequantize(supported[t], raw + r * w->row_bytes, k, want);
                qr_packed_unpack_row(w, r, got);
                assert_memory_equal(got, want, k * sizeof *want);
            }
            free(raw);
            free(want);
            free(got);
            qr_packed_destroy(w);
        }
}

/* With an order, value k of a packed row is that of input order[k]. */
static void unpacked_rows_follow_the_order(void **state)
{
    (void)state;
    enum { K = 288, N = 5 };
    uint32_t order[K];
    float plain[K], ordered[K];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w;
    assert_status(QUIRE_OK, qr_packed_create(QR_WEIGHT_INT4_32, N, K, NULL, &w, &err));
    uint8_t raw[N * (K / 32 * 21)];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = i % 21 == 3 ? 0x3c : random_byte(); /* of usual size */
    for (uint32_t k = 0; k < K; k++)
        order[k] = 5 * k % K;
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, N, raw, &err));
    qr_packed_unpack_row(w, 3, plain);
    qr_packed_set_order(w, order);
    qr_packed_unpack_row(w, 3, ordered);
    for (size_t k = 0; k < K; k++)
        assert_memory_equal(&ordered[order[k]], &plain[k], sizeof *plain);
    qr_packed_destroy(w);
}

/* Packing panels in any order into uninitialized memory gives equal bytes, padding included. */
static void packing_order_does_not_matter(void **state)
{
    (void)state;
    for (int t = 0; t < N_SUPPORTED; t++) {
        struct fail_alloc a;
        fail_alloc_init(&a, 0, false);
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_packed *w1, *w2;
        const size_t n = 133, k = odd_k(supported[t]);
        assert_status(QUIRE_OK, qr_packed_create(supported[t], n, k, &a.hooks, &w1, &err));
        assert_status(QUIRE_OK, qr_packed_create(supported[t], n, k, &a.hooks, &w2, &err));
        uint64_t bytes;
        assert_status(QUIRE_OK, qr_packed_bytes(supported[t], n, k, &bytes, &err));
        assert_int_equal(bytes, w1->bytes);
        assert_int_equal((uintptr_t)w1->data % 64, 0);
        uint8_t *raw = malloc(n * w1->row_bytes);
        assert_non_null(raw);
        for (size_t i = 0; i < n * w1->row_bytes; i++)
            raw[i] = random_byte();
        memset(w1->data, 0x11, w1->bytes);
        memset(w2->data, 0xee, w2->bytes);
        assert_status(QUIRE_OK, qr_packed_pack_rows(w1, 0, n, raw, &err));
        for (size_t p = w2->n_panels; p-- > 0;) {
            const size_t row0 = p * w2->panel_rows,
                         rows = n - row0 < w2->panel_rows ? n - row0 : w2->panel_rows;
            assert_status(QUIRE_OK,
                          qr_packed_pack_rows(w2, row0, rows, raw + row0 * w2->row_bytes, &err));
        }
        assert_memory_equal(w1->data, w2->data, w1->bytes);
        free(raw);
        qr_packed_destroy(w1);
        qr_packed_destroy(w2);
        assert_int_equal(a.live_count, 0);
        assert_int_equal(a.live_bytes, 0);
    }
}

/* Panels are little larger than the file, except that entries of grids become codes of single
 * values, and ternary digits two bits. */
static void packed_size_is_near_file_size(void **state)
{
    static const struct {
        enum qr_weight_type type;
        double most;
    } larger[] = {
        { QR_WEIGHT_IQ3_XXS, 1.43 }, { QR_WEIGHT_IQ3_S, 1.28 },   { QR_WEIGHT_IQ1_S, 1.45 },
        { QR_WEIGHT_IQ1_M, 1.43 },   { QR_WEIGHT_IQ2_XXS, 1.58 }, { QR_WEIGHT_IQ2_XS, 1.46 },
        { QR_WEIGHT_IQ2_S, 1.32 },   { QR_WEIGHT_TQ1_0, 1.26 },
    };
    (void)state;
    for (int t = 0; t < N_SUPPORTED; t++) {
        uint64_t bytes;
        size_t row;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, qr_packed_bytes(supported[t], 2048, 2048, &bytes, &err));
        assert_true(qr_weight_row_bytes(supported[t], 2048, &row));
        assert_true(bytes >= 2048 * row);
        double most = 1.06;
        for (size_t i = 0; i < sizeof larger / sizeof larger[0]; i++)
            if (larger[i].type == supported[t])
                most = larger[i].most;
        assert_true((double)bytes <= most * 2048 * (double)row);
    }
}

/* ---- errors */

static void create_rejects_bad_shapes(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w = (struct qr_packed *)1;
    assert_status(QUIRE_E_UNSUPPORTED, qr_packed_create(9, 16, 256, NULL, &w, &err));
    assert_null(w);
    assert_non_null(strstr(err.msg, "Q8_1"));
    assert_status(QUIRE_E_UNSUPPORTED, qr_packed_create(4, 16, 256, NULL, &w, &err));
    assert_non_null(strstr(err.msg, "4"));
    assert_status(QUIRE_E_UNSUPPORTED, qr_packed_create(UINT32_MAX, 16, 256, NULL, &w, &err));
    assert_status(QUIRE_E_FORMAT, qr_packed_create(QR_WEIGHT_Q4_K, 16, 128, NULL, &w, &err));
    assert_non_null(strstr(err.msg, "Q4_K"));
    assert_status(QUIRE_E_FORMAT, qr_packed_create(QR_WEIGHT_Q8_0, 16, 31, NULL, &w, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_create(QR_WEIGHT_F32, 0, 16, NULL, &w, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_create(QR_WEIGHT_F32, 16, 0, NULL, &w, &err));
    assert_status(QUIRE_E_LIMIT, qr_packed_create(QR_WEIGHT_F32, UINT64_MAX, 1, NULL, &w, &err));
    assert_status(QUIRE_E_LIMIT, qr_packed_create(QR_WEIGHT_F32, 1, UINT64_MAX, NULL, &w, &err));
    assert_status(QUIRE_E_LIMIT,
                  qr_packed_create(QR_WEIGHT_BF16, 1, UINT64_MAX - 1, NULL, &w, &err));
    assert_status(QUIRE_E_LIMIT, qr_packed_create(QR_WEIGHT_Q8_0, UINT64_C(1) << 40,
                                                  UINT64_C(1) << 40, NULL, &w, &err));
    assert_status(QUIRE_E_LIMIT, qr_packed_create(QR_WEIGHT_Q2_K, UINT64_C(1) << 33,
                                                  UINT64_C(1) << 33, NULL, &w, &err));
    assert_null(w);
    qr_packed_destroy(NULL);
}

static void create_handles_allocation_failure(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 2; at++) {
        struct fail_alloc a;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_packed *w;
        fail_alloc_init(&a, at, true);
        assert_status(QUIRE_E_NOMEM, qr_packed_create(QR_WEIGHT_Q4_0, 40, 64, &a.hooks, &w, &err));
        assert_null(w);
        assert_int_equal(a.live_count, 0);
    }
}

static void pack_rows_rejects_partial_panels(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w;
    static const uint8_t raw[40 * 18];
    assert_status(QUIRE_OK, qr_packed_create(QR_WEIGHT_Q4_0, 40, 32, NULL, &w, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_pack_rows(w, 8, 16, raw, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_pack_rows(w, 0, 15, raw, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_pack_rows(w, 32, 9, raw, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_pack_rows(w, 48, 0, raw, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_packed_pack_rows(w, 16, SIZE_MAX, raw, &err));
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 32, 8, raw, &err));
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, 32, raw, &err));
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, 0, raw, &err));
    qr_packed_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(type_table),
        cmocka_unit_test(foreign_types_are_named),
        cmocka_unit_test(row_bytes_are_exact),
        cmocka_unit_test(rows_come_back_exactly),
        cmocka_unit_test(unpacked_rows_follow_the_order),
        cmocka_unit_test(packing_order_does_not_matter),
        cmocka_unit_test(packed_size_is_near_file_size),
        cmocka_unit_test(create_rejects_bad_shapes),
        cmocka_unit_test(create_handles_allocation_failure),
        cmocka_unit_test(pack_rows_rejects_partial_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
