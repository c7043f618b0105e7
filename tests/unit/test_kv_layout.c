/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_layout.c - the index formula is a bijection and agrees with column and step strides. */
#include "kv/layout.h"
#include "quire_cmocka.h"
#include <limits.h>
#include <stdlib.h>

static const enum quire_kv_dtype DTYPES[] = { QUIRE_KV_F32,      QUIRE_KV_BF16,     QUIRE_KV_F16,
                                              QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2, QUIRE_KV_INT8 };
static const int BLOCK_SIZES[] = { 16, 32, 48, 64, 80, 128, 192, 256 };
static const int HEAD_SIZES[] = { 1, 7, 8, 12, 16, 24, 40, 64, 72, 80, 128, 129, 256 };

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Oracle: the table in layout.h, index by index. */
static size_t expect_k(enum quire_kv_dtype type, int g, int D, int t, int d)
{
    const size_t group = (size_t)(t / g), T = (size_t)(t % g), G = (size_t)g, x = (size_t)d;
    const size_t n = (size_t)D * G;
    if (D % 8 != 0)
        return (group * n + T * (size_t)D + x) * (type == QUIRE_KV_F32   ? 4
                                                  : type <= QUIRE_KV_F16 ? 2
                                                                         : 1);
    switch (type) {
    case QUIRE_KV_F32:
        return (group * n + x * G + T) * 4;
    case QUIRE_KV_F16:
        return (group * n + x * G + T) * 2;
    case QUIRE_KV_BF16:
        return (group * n + (x / 2 * G + T) * 2 + x % 2) * 2;
    case QUIRE_KV_INT8:
        return group * n + (x / 4 * G + T) * 4 + x % 4;
    default:
        return group * n + (x / 4 * (G / 16) + T / 16) * 64 + T % 16 / 4 * 16 + x % 4 / 2 * 8 +
               T % 4 * 2 + x % 2;
    }
}

static size_t expect_v(enum quire_kv_dtype type, int g, int D, int t, int d)
{
    const size_t group = (size_t)(t / g), T = (size_t)(t % g), x = (size_t)d;
    const size_t Dp = D % 8 ? (size_t)D : (size_t)(D + 15) / 16 * 16, n = Dp * (size_t)g;
    if (D % 8 != 0)
        return (group * n + T * Dp + x) * (type == QUIRE_KV_F32 ? 4 : type <= QUIRE_KV_F16 ? 2 : 1);
    switch (type) {
    case QUIRE_KV_F32:
        return (group * n + T * Dp + x) * 4;
    case QUIRE_KV_F16:
        return (group * n + T * Dp + x) * 2;
    case QUIRE_KV_BF16:
        return (group * n + (T / 2 * Dp + x) * 2 + T % 2) * 2;
    case QUIRE_KV_INT8:
        return group * n + (T / 4 * Dp + x) * 4 + T % 4;
    default:
        return group * n + (T / 4 * (Dp / 16) + x / 16) * 64 + x % 16 / 4 * 16 + T % 4 / 2 * 8 +
               x % 4 * 2 + T % 2;
    }
}

static void mark(unsigned char *used, size_t size, size_t at, size_t n)
{
    assert_true(at % n == 0);
    assert_true(at + n <= size);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(used[at + i], 0);
        used[at + i] = 1;
    }
}

static void check_layout(enum quire_kv_dtype kt, enum quire_kv_dtype vt, int bs, int kd, int vd)
{
    struct qr_kv_layout l;
    assert_true(qr_kv_layout_init(&l, kt, vt, bs, kd, vd));
    assert_int_equal(l.block_bytes % 64, 0);
    assert_int_equal(l.group, bs % 64 == 0 ? 64 : 16);
    unsigned char *used = calloc(l.block_bytes, 1);
    assert_non_null(used);
    for (int t = 0; t < bs; t++) {
        for (int d = 0; d < kd; d++) {
            const size_t at = qr_kv_k_offset(&l, t, d);
            assert_int_equal(at, expect_k(kt, l.group, kd, t, d));
            assert_true(at < l.k_bytes);
            mark(used, l.block_bytes, at, qr_kv_dtype(kt)->bytes);
        }
        for (int d = 0; d < vd; d++) {
            const size_t at = qr_kv_v_offset(&l, t, d);
            assert_int_equal(at - l.k_bytes, expect_v(vt, l.group, vd, t, d));
            mark(used, l.block_bytes, at, qr_kv_dtype(vt)->bytes);
        }
    }
    assert_int_equal(l.k_scales != 0, kt == QUIRE_KV_INT8);
    assert_int_equal(l.v_scales != 0, vt == QUIRE_KV_INT8);
    if (l.k_scales && l.v_scales)
        assert_true(l.k_scales < l.v_scales);
    for (size_t t = 0; t < (size_t)bs; t++) { /* after all codes, four bytes each */
        if (l.k_scales)
            mark(used, l.block_bytes, l.k_scales + 4 * t, 4);
        if (l.v_scales)
            mark(used, l.block_bytes, l.v_scales + 4 * t, 4);
    }
    size_t free_bytes = 0;
    for (size_t i = 0; i < l.block_bytes; i++)
        free_bytes += !used[i];
    /* only the padding of V to 16 and of two parts to 64 bytes is unused */
    const size_t v_pad = (size_t)(l.v_padded - vd) * (size_t)bs * qr_kv_dtype(vt)->bytes;
    assert_in_range(free_bytes, v_pad, v_pad + 2 * 63);
    free(used);
}

static void bijection_for_every_dtype_and_size(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(DTYPES); k++)
        for (size_t b = 0; b < COUNT(BLOCK_SIZES); b++)
            for (size_t h = 0; h < COUNT(HEAD_SIZES); h++) {
                check_layout(DTYPES[k], DTYPES[k], BLOCK_SIZES[b], HEAD_SIZES[h], HEAD_SIZES[h]);
                check_layout(DTYPES[k], DTYPES[(k + 1 + h) % COUNT(DTYPES)], BLOCK_SIZES[b],
                             HEAD_SIZES[h], HEAD_SIZES[(h + 3) % COUNT(HEAD_SIZES)]);
            }
}

/* Offset in a column as a kernel computes it: column + step * stride + constant offset in the
 * step. */
static size_t walk_k(const struct qr_kv_layout *l, int column, int t, int d)
{
    const size_t at = qr_kv_k_column(l, column), s = l->k_step_bytes,
                 e = qr_kv_dtype(l->k_dtype)->bytes;
    const size_t T = (size_t)t, x = (size_t)d;
    if (l->k_plain)
        return at + T * s + x * e;
    if (l->k_dtype == QUIRE_KV_BF16)
        return at + x / 2 * s + T * 4 + x % 2 * 2;
    if (l->k_dtype == QUIRE_KV_INT8)
        return at + x / 4 * s + T * 4 + x % 4;
    if (e == 1)
        return at + x / 4 * s + T / 4 * 16 + x % 4 / 2 * 8 + T % 4 * 2 + x % 2;
    return at + x * s + T * e;
}

static size_t walk_v(const struct qr_kv_layout *l, int column, int t, int d)
{
    const size_t at = qr_kv_v_column(l, column), s = l->v_step_bytes,
                 e = qr_kv_dtype(l->v_dtype)->bytes;
    const size_t T = (size_t)t, x = (size_t)d;
    if (l->v_plain)
        return at + T * s + x * e;
    if (l->v_dtype == QUIRE_KV_BF16)
        return at + T / 2 * s + x * 4 + T % 2 * 2;
    if (l->v_dtype == QUIRE_KV_INT8)
        return at + T / 4 * s + x * 4 + T % 4;
    if (e == 1)
        return at + T / 4 * s + x / 16 * 64 + x % 16 / 4 * 16 + T % 4 / 2 * 8 + x % 4 * 2 + T % 2;
    return at + T * s + x * e;
}

static void columns_and_steps_address_the_same_bytes(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(DTYPES); k++)
        for (size_t b = 0; b < COUNT(BLOCK_SIZES); b++)
            for (size_t h = 0; h < COUNT(HEAD_SIZES); h++) {
                struct qr_kv_layout l;
                assert_true(qr_kv_layout_init(&l, DTYPES[k], DTYPES[k], BLOCK_SIZES[b],
                                              HEAD_SIZES[h], HEAD_SIZES[h]));
                for (int t = 0; t < BLOCK_SIZES[b]; t++)
                    for (int d = 0; d < HEAD_SIZES[h]; d++) {
                        assert_int_equal(walk_k(&l, t / 16 * 16, t % 16, d),
                                         qr_kv_k_offset(&l, t, d));
                        assert_int_equal(walk_v(&l, t / 16 * 16, t % 16, d),
                                         qr_kv_v_offset(&l, t, d));
                    }
            }
}

static void rejects_sizes_out_of_range(void **state)
{
    (void)state;
    struct qr_kv_layout l = { .block_size = -7 };
    static const int BAD[][3] = { { 0, 64, 64 },       { -16, 64, 64 },    { 8, 64, 64 },
                                  { 17, 64, 64 },      { 63, 64, 64 },     { 64, 0, 64 },
                                  { 64, 64, 0 },       { 64, -8, 64 },     { 64, 64, -8 },
                                  { 64, 1025, 64 },    { 64, 64, 1025 },   { INT_MIN, 64, 64 },
                                  { INT_MAX, 64, 64 }, { 64, INT_MAX, 64 } };
    for (size_t i = 0; i < COUNT(BAD); i++)
        assert_false(
            qr_kv_layout_init(&l, QUIRE_KV_BF16, QUIRE_KV_BF16, BAD[i][0], BAD[i][1], BAD[i][2]));
    assert_false(qr_kv_layout_init(&l, (enum quire_kv_dtype)99, QUIRE_KV_BF16, 64, 64, 64));
    assert_false(qr_kv_layout_init(&l, QUIRE_KV_BF16, (enum quire_kv_dtype)99, 64, 64, 64));
    assert_int_equal(l.block_size, -7);
    assert_true(qr_kv_layout_init(&l, QUIRE_KV_F32, QUIRE_KV_F32, INT_MAX / 16 * 16, 1024, 1024));
    assert_true(l.block_bytes > (size_t)INT_MAX * 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bijection_for_every_dtype_and_size),
        cmocka_unit_test(columns_and_steps_address_the_same_bytes),
        cmocka_unit_test(rejects_sizes_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
