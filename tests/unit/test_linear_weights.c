/* SPDX-License-Identifier: Apache-2.0 */
/* test_linear_weights.c - weight types, dequantization, packing and unpacking of rows. */
#include "linear/dequantize.h"
#include "linear/iq3_grid.h"
#include "linear/packed.h"
#include "quire_cmocka.h"
#ifdef QUIRE_WITH_TEXT
#include "format/safetensors.h"
#endif

static const enum qr_weight_type supported[] = {
    QR_WEIGHT_F32,   QR_WEIGHT_F16,     QR_WEIGHT_BF16,  QR_WEIGHT_Q4_0,   QR_WEIGHT_Q4_1,
    QR_WEIGHT_Q5_0,  QR_WEIGHT_Q5_1,    QR_WEIGHT_Q8_0,  QR_WEIGHT_Q2_K,   QR_WEIGHT_Q3_K,
    QR_WEIGHT_Q4_K,  QR_WEIGHT_Q5_K,    QR_WEIGHT_Q6_K,  QR_WEIGHT_IQ4_NL, QR_WEIGHT_IQ4_XS,
    QR_WEIGHT_MXFP4, QR_WEIGHT_IQ3_XXS, QR_WEIGHT_IQ3_S,
};
enum { N_SUPPORTED = sizeof supported / sizeof supported[0] };

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
    assert_int_equal(n, N_SUPPORTED);
    for (int i = 0; i < N_SUPPORTED; i++)
        assert_true(qr_weight_type_info(supported[i])->supported);
    assert_string_equal(qr_weight_type_info(QR_WEIGHT_Q4_K)->name, "Q4_K");
    assert_string_equal(qr_weight_type_info(17)->name, "IQ2_XS");
    assert_null(qr_weight_type_info(4));
    assert_null(qr_weight_type_info(42));
    assert_null(qr_weight_type_info(UINT32_MAX));
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

/* ---- values by formula */

static void set_half(uint8_t *p, uint16_t h) { memcpy(p, &h, sizeof h); }

static void plain_types_by_formula(void **state)
{
    (void)state;
    const float f32[3] = { 1.5f, -0.0f, 0x1p-149f };
    const uint16_t f16[6] = { 0x3c00, 0xc500, 0x0001, 0x03ff, 0x7bff, 0x7c00 };
    const uint16_t bf16[3] = { 0x3fc0, 0x8001, 0xff80 };
    float out[6];
    qr_weight_dequantize(QR_WEIGHT_F32, f32, 3, out);
    assert_memory_equal(out, f32, sizeof f32);
    qr_weight_dequantize(QR_WEIGHT_F16, f16, 6, out);
    assert_true(out[0] == 1 && out[1] == -5 && out[2] == 0x1p-24f && out[3] == 1023 * 0x1p-24f &&
                out[4] == 65504 && out[5] > 1e38f);
    qr_weight_dequantize(QR_WEIGHT_BF16, bf16, 3, out);
    assert_true(out[0] == 1.5f && out[1] == -0x1p-133f && out[2] < -1e38f);
}

static void q5_1_by_formula(void **state)
{
    (void)state;
    uint8_t block[24] = { 0 };
    float out[32];
    set_half(block, 0x3800);     /* d = 0.5 */
    set_half(block + 2, 0xc000); /* m = -2 */
    block[4 + 0] = 0x02;         /* fifth bit of value 1 */
    block[4 + 3] = 0x80;         /* fifth bit of value 31 */
    block[8 + 0] = 0x53;         /* value 0 = 3, value 16 = 5 */
    block[8 + 1] = 0x0f;         /* value 1 = 15 + 16 */
    block[8 + 15] = 0xa0;        /* value 31 = 10 + 16 */
    qr_weight_dequantize(QR_WEIGHT_Q5_1, block, 32, out);
    assert_true(out[0] == 3 * 0.5f - 2 && out[16] == 5 * 0.5f - 2 && out[1] == 31 * 0.5f - 2);
    assert_true(out[31] == 26 * 0.5f - 2 && out[7] == -2);
}

static void mxfp4_by_formula(void **state)
{
    (void)state;
    static const float e2m1[16] = {
        0, .5f, 1, 1.5f, 2, 3, 4, 6, 0, -.5f, -1, -1.5f, -2, -3, -4, -6
    };
    static const struct {
        uint8_t e;
        float scale;
    } scales[] = { { 127, 1 },       { 130, 8 },       { 120, 0x1p-7f }, { 1, 0x1p-126f },
                   { 0, 0x1p-127f }, { 2, 0x1p-125f }, { 252, 0x1p125f } };
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        uint8_t block[17] = { scales[s].e };
        float out[32];
        for (int i = 0; i < 16; i++)
            block[1 + i] = (uint8_t)(i | (15 - i) << 4);
        qr_weight_dequantize(QR_WEIGHT_MXFP4, block, 32, out);
        for (int i = 0; i < 16; i++) {
            assert_true(out[i] == e2m1[i] * scales[s].scale);
            assert_true(out[16 + i] == e2m1[15 - i] * scales[s].scale);
        }
    }
}

/* ---- values from other implementations */

/* FNV-1a hash of a grid in the published form: one byte per magnitude. */
static uint64_t grid_hash(const uint16_t *grid, size_t n, bool xxs)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 4 * n; i++) {
        const unsigned digit = grid[i / 4] >> (3 * (i % 4)) & 7, magnitude = !xxs ? 2 * digit + 1
                                                                             : digit == 7
                                                                                 ? 62
                                                                                 : 8 * digit + 4;
        h = (h ^ magnitude) * 0x100000001b3u;
    }
    return h;
}

static void grids_match_the_format(void **state)
{
    (void)state;
    assert_true(grid_hash(qr_iq3_xxs_grid, 256, true) == 0xdfa5dc83d6a155d5u);
    assert_true(grid_hash(qr_iq3_s_grid, 512, false) == 0xfa37020c25b44829u);
}

/* One nonzero element in each field of the block. */
static void iq3_by_formula(void **state)
{
    (void)state;
    uint8_t block[110] = { 0 };
    float out[256];
    set_half(block, 0x3c00); /* 1 */
    block[2 + 8 + 1] = 255;  /* values 36 .. 39: last grid entry */
    block[66 + 4] = 1 << 5;  /* signs of values 32 .. 39: value 37 is negative, hence 39 too */
    block[66 + 7] = 0x70;    /* scale 7 of values 32 .. 63 */
    qr_weight_dequantize(QR_WEIGHT_IQ3_XXS, block, 256, out);
    const unsigned last = qr_iq3_xxs_grid[255];
    for (size_t i = 0; i < 256; i++) {
        const unsigned digit = i / 4 == 9 ? last >> (3 * (i % 4)) & 7 : 0;
        const float magnitude = digit == 7 ? 62 : 8 * (float)digit + 4,
                    scale = i / 32 == 1 ? 3.75f : 0.25f;
        assert_true(out[i] == (i == 37 || i == 39 ? -magnitude : magnitude) * scale);
    }
    memset(block + 2, 0, sizeof block - 2);
    block[2 + 8 + 1] = 255;
    block[66 + 1] = 1 << 1; /* values 36 .. 39: index 511 */
    block[74 + 4] = 1 << 5; /* value 37 is negative */
    block[106] = 0x70;      /* scale 15 of values 32 .. 63 */
    qr_weight_dequantize(QR_WEIGHT_IQ3_S, block, 256, out);
    for (size_t i = 0; i < 256; i++) {
        const unsigned digit = i / 4 == 9 ? qr_iq3_s_grid[511] >> (3 * (i % 4)) & 7 : 0;
        const float value = (2 * (float)digit + 1) * (i / 32 == 1 ? 15 : 1);
        assert_true(out[i] == (i == 37 ? -value : value));
    }
}

#ifdef QUIRE_WITH_TEXT
static void *read_tensor(const struct qr_safetensors *st, const char *prefix, const char *tensor,
                         uint64_t shape[2])
{
    char name[128];
    size_t i;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(name, sizeof name, "%s.%s", prefix, tensor);
    assert_true(qr_safetensors_find(st, name, &i));
    const struct qr_safetensor *t = qr_safetensors_tensor(st, i);
    void *data = malloc(t->bytes);
    assert_non_null(data);
    assert_status(QUIRE_OK, qr_safetensors_read_range(st, i, 0, t->bytes, data, &err));
    shape[0] = t->shape[0];
    shape[1] = t->shape[1];
    return data;
}

static void check_golden(enum qr_weight_type type, const char *file)
{
    static const char *const tensors[] = { "blk.0.attn_k.weight", "blk.1.ffn_down.weight" };
    char path[4200];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_safetensors *st;
    snprintf(path, sizeof path, "%s/goldens/gguf/llama_h256-%s.golden.safetensors", shared_dir(),
             file);
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &st, &err));
    for (size_t t = 0; t < 2; t++) {
        uint64_t raw_shape[2], shape[2];
        uint8_t *raw = read_tensor(st, "raw", tensors[t], raw_shape);
        float *want = read_tensor(st, "dequant", tensors[t], shape);
        const size_t n = (size_t)shape[0], k = (size_t)shape[1];
        struct qr_packed *w;
        float *got = malloc(k * sizeof *got);
        assert_non_null(got);
        assert_status(QUIRE_OK, qr_packed_create(type, n, k, NULL, &w, &err));
        assert_int_equal(w->row_bytes, raw_shape[1]);
        assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, n, raw, &err));
        for (size_t r = 0; r < n; r++) {
            qr_weight_dequantize(type, raw + r * raw_shape[1], k, got);
            for (size_t i = 0; i < k; i++) /* == because the sign of zero may differ */
                if (got[i] != want[r * k + i])
                    fail_msg("%s: row %zu value %zu: %.9g, not %.9g", file, r, i, (double)got[i],
                             (double)want[r * k + i]);
            qr_packed_unpack_row(w, r, got);
            for (size_t i = 0; i < k; i++)
                assert_true(got[i] == want[r * k + i]);
        }
        qr_packed_destroy(w);
        free(got);
        free(raw);
        free(want);
    }
    qr_safetensors_close(st);
}

static void values_match_goldens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_golden(QR_WEIGHT_Q4_0, "q4_0");
    check_golden(QR_WEIGHT_Q4_1, "q4_1");
    check_golden(QR_WEIGHT_Q5_0, "q5_0");
    check_golden(QR_WEIGHT_Q2_K, "q2_k");
    check_golden(QR_WEIGHT_Q3_K, "q3_k_s");
    check_golden(QR_WEIGHT_Q4_K, "q4_k_s");
    check_golden(QR_WEIGHT_Q5_K, "q5_k_s");
    check_golden(QR_WEIGHT_Q6_K, "q6_k");
    check_golden(QR_WEIGHT_IQ3_XXS, "iq3_xxs");
    check_golden(QR_WEIGHT_IQ4_NL, "iq4_nl");
    check_golden(QR_WEIGHT_IQ4_XS, "iq4_xs");
}
#endif

/* ---- packing */

static uint32_t rng = 1;
static uint8_t random_byte(void)
{
    rng = rng * 1664525u + 1013904223u;
    return (uint8_t)(rng >> 24);
}

static size_t odd_k(enum qr_weight_type type)
{
    const size_t block = qr_weight_type_info(type)->block_elems;
    return block == 1 ? 67 : block == 32 ? 11 * 32 : 3 * 256;
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

/* Panels are little larger than the file, except that grids of 3-bit values become 4-bit codes. */
static void packed_size_is_near_file_size(void **state)
{
    (void)state;
    for (int t = 0; t < N_SUPPORTED; t++) {
        uint64_t bytes;
        size_t row;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, qr_packed_bytes(supported[t], 2048, 2048, &bytes, &err));
        assert_true(qr_weight_row_bytes(supported[t], 2048, &row));
        assert_true(bytes >= 2048 * row);
        const double most = supported[t] == QR_WEIGHT_IQ3_XXS ? 1.43
                            : supported[t] == QR_WEIGHT_IQ3_S ? 1.28
                                                              : 1.06;
        assert_true((double)bytes <= most * 2048 * (double)row);
    }
}

/* ---- errors */

static void create_rejects_bad_shapes(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w = (struct qr_packed *)1;
    assert_status(QUIRE_E_UNSUPPORTED, qr_packed_create(17, 16, 256, NULL, &w, &err));
    assert_null(w);
    assert_non_null(strstr(err.msg, "IQ2_XS"));
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
        cmocka_unit_test(row_bytes_are_exact),
        cmocka_unit_test(plain_types_by_formula),
        cmocka_unit_test(q5_1_by_formula),
        cmocka_unit_test(mxfp4_by_formula),
        cmocka_unit_test(grids_match_the_format),
        cmocka_unit_test(iq3_by_formula),
#ifdef QUIRE_WITH_TEXT
        cmocka_unit_test(values_match_goldens),
#endif
        cmocka_unit_test(rows_come_back_exactly),
        cmocka_unit_test(packing_order_does_not_matter),
        cmocka_unit_test(packed_size_is_near_file_size),
        cmocka_unit_test(create_rejects_bad_shapes),
        cmocka_unit_test(create_handles_allocation_failure),
        cmocka_unit_test(pack_rows_rejects_partial_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
