/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf.c - GGUF headers and metadata: malformed files fail with a reason, values are read. */
#include "test_gguf.h"

static void test_short_and_foreign_files(void **state)
{
    (void)state;
    struct image m;
    put_head(&m, 3, 0, 0);
    const size_t whole = m.size;
    for (m.size = 0; m.size < whole; m.size++)
        expect_open(&m, QUIRE_E_FORMAT, "file ends inside");
    m.size = whole;
    expect_open(&m, QUIRE_OK, NULL);
    m.data[0] = 'g';
    expect(&m, QUIRE_E_FORMAT, "not a GGUF file");
}

static void test_versions(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        quire_status status;
        const char *text;
    } cases[] = {
        { 2, QUIRE_OK, NULL },
        { 3, QUIRE_OK, NULL },
        { 0, QUIRE_E_UNSUPPORTED, "version 0" },
        { 1, QUIRE_E_UNSUPPORTED, "version 1" },
        { 4, QUIRE_E_UNSUPPORTED, "version 4" },
        { 0x03000000, QUIRE_E_UNSUPPORTED, "big-endian" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct image m;
        put_head(&m, cases[i].version, 0, 0);
        expect(&m, cases[i].status, cases[i].text);
    }
}

static void test_false_counts(void **state)
{
    (void)state;
    /* the largest number, and numbers whose product with the size of an entry exceeds 2^64 */
    static const uint64_t counts[] = { UINT64_MAX, UINT64_MAX / 14 + 1, (UINT64_MAX / 41) + 2,
                                       1u << 20, 1 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct image m;
        put_head(&m, 3, counts[i], 0);
        expect(&m, QUIRE_E_LIMIT, "tensor count");
        put_head(&m, 3, 0, counts[i]);
        expect(&m, QUIRE_E_LIMIT, "metadata count");
    }
}

static void put_filler(struct image *m)
{
    for (int i = 0; i < 8; i++)
        put_u64(m, 0);
}

static void test_string_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = { UINT64_MAX, UINT64_MAX - 7, 1000, 1ull << 32 };
    struct image m;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        put_head(&m, 3, 0, 1);
        put_u64(&m, lengths[i]);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "of a metadata key");
        put_head(&m, 3, 0, 1);
        put_key(&m, "k", QR_GGUF_STRING);
        put_u64(&m, lengths[i]);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "of a metadata string");
        put_head(&m, 3, 0, 1);
        put_kv_array(&m, "k", QR_GGUF_STRING, 2);
        put_str(&m, "ok");
        put_u64(&m, lengths[i]);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "of a string in an array");
    }
    char *key = malloc(65537);
    memset(key, 'k', 65536);
    key[65536] = 0;
    put_head(&m, 3, 0, 1);
    put_kv_u32(&m, key, 1);
    expect(&m, QUIRE_E_FORMAT, "at most 65535");
    key[65535] = 0;
    put_head(&m, 3, 0, 1);
    put_kv_u32(&m, key, 1);
    expect(&m, QUIRE_OK, NULL);
    free(key);
}

static void test_keys(void **state)
{
    (void)state;
    struct image m;
    put_head(&m, 3, 0, 2);
    put_kv_u32(&m, "", 1);
    put_kv_u32(&m, "b", 1);
    expect(&m, QUIRE_E_FORMAT, "empty");
    put_head(&m, 3, 0, 1);
    put_kv_u32(&m, "sch\xc3\xb6n", 1);
    expect(&m, QUIRE_E_FORMAT, "not printable ASCII");
    put_head(&m, 3, 0, 1);
    put_u64(&m, 3);
    put(&m, "a\0b", 3);
    put_u32(&m, QR_GGUF_U32);
    put_u32(&m, 1);
    expect(&m, QUIRE_E_FORMAT, "not printable ASCII");
    put_head(&m, 3, 0, 3);
    put_kv_u32(&m, "same", 1);
    put_kv_u32(&m, "other", 1);
    put_kv_str(&m, "same", "x");
    expect(&m, QUIRE_E_FORMAT, "key same appears twice");
}

static void test_value_types(void **state)
{
    (void)state;
    struct image m;
    static const uint32_t unknown[] = { 13, 255, UINT32_MAX };
    for (size_t i = 0; i < 3; i++) {
        put_head(&m, 3, 0, 1);
        put_key(&m, "k", unknown[i]);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "unknown metadata value type");
        put_head(&m, 3, 0, 1);
        put_kv_array(&m, "k", unknown[i], 1);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "unknown");
    }
    put_head(&m, 3, 0, 1);
    put_kv_array(&m, "k", QR_GGUF_ARRAY, 1);
    put_filler(&m);
    expect(&m, QUIRE_E_FORMAT, "nested");
    put_head(&m, 3, 0, 1);
    put_key(&m, "k", QR_GGUF_BOOL);
    put_u8(&m, 7);
    expect(&m, QUIRE_E_FORMAT, "bool value 7");
    put_head(&m, 3, 0, 1);
    put_kv_array(&m, "k", QR_GGUF_BOOL, 3);
    put(&m, "\0\1\2", 3);
    expect(&m, QUIRE_E_FORMAT, "bool value 2");
    static const uint64_t counts[] = { UINT64_MAX, UINT64_MAX / 4 + 1, 1u << 30 };
    for (size_t i = 0; i < 3; i++) {
        put_head(&m, 3, 0, 1);
        put_kv_array(&m, "k", i == 2 ? QR_GGUF_STRING : QR_GGUF_U32, counts[i]);
        put_filler(&m);
        expect(&m, QUIRE_E_FORMAT, "bytes are left");
    }
}

/* A file with one value of every type. */
static void put_sample(struct image *m)
{
    put_head(m, 3, 0, 12);
    put_key(m, "u8", QR_GGUF_U8);
    put_u8(m, 200);
    put_key(m, "i8", QR_GGUF_I8);
    put_u8(m, 0x80);
    put_key(m, "i32", QR_GGUF_I32);
    put_u32(m, (uint32_t)-5);
    put_key(m, "u64", QR_GGUF_U64);
    put_u64(m, UINT64_MAX);
    put_key(m, "f64", QR_GGUF_F64);
    const double d = 0.1;
    put(m, &d, sizeof d);
    put_kv_f32(m, "f32", 2.5f);
    put_key(m, "yes", QR_GGUF_BOOL);
    put_u8(m, 1);
    put_key(m, "text", QR_GGUF_STRING);
    put_u64(m, 3);
    put(m, "a\0z", 3);
    put_kv_array(m, "words", QR_GGUF_STRING, 3);
    put_str(m, "one");
    put_str(m, "");
    put_str(m, "three");
    put_kv_array(m, "numbers", QR_GGUF_I16, 2);
    put(m, "\xff\xff\x02\x00", 4);
    put_kv_array(m, "floats", QR_GGUF_F32, 1);
    put_u32(m, 0x3f800000);
    put_kv_array(m, "none", QR_GGUF_STRING, 0);
}

static void test_scalars(void **state)
{
    (void)state;
    struct image m;
    put_sample(&m);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    uint32_t u = 99;
    uint64_t big;
    int64_t i64;
    float f;
    bool b;
    struct qr_gguf_str s;
    assert_int_equal(qr_gguf_key_count(g), 12);
    assert_memory_equal(qr_gguf_key(g, 2).data, "i32", 3);
    assert_null(qr_gguf_key(g, 12).data);
    assert_true(qr_gguf_has(g, "yes") && !qr_gguf_has(g, "no"));
    assert_status(QUIRE_OK, qr_gguf_get_u32(g, "u8", &u, &err));
    assert_int_equal(u, 200);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_u32(g, "i8", &u, &err));
    assert_non_null(strstr(err.msg, "i8 is -128"));
    assert_int_equal(u, 200);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_u32(g, "u64", &u, &err));
    assert_status(QUIRE_OK, qr_gguf_get_u64(g, "u64", &big, &err));
    assert_true(big == UINT64_MAX);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_i64(g, "u64", &i64, &err));
    assert_status(QUIRE_OK, qr_gguf_get_i64(g, "i32", &i64, &err));
    assert_int_equal(i64, -5);
    assert_status(QUIRE_OK, qr_gguf_get_f32(g, "f64", &f, &err));
    assert_true(f == 0.1f);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_f32(g, "u8", &f, &err));
    assert_non_null(strstr(err.msg, "u8 has type u8"));
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_u32(g, "f32", &u, &err));
    assert_status(QUIRE_OK, qr_gguf_get_bool(g, "yes", &b, &err));
    assert_true(b);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_bool(g, "u8", &b, &err));
    assert_status(QUIRE_OK, qr_gguf_get_str(g, "text", &s, &err));
    assert_int_equal(s.size, 3);
    assert_memory_equal(s.data, "a\0z", 3);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_str(g, "words", &s, &err));
    qr_gguf_close(g);
    drop(&m);
}

static void test_absent_and_default(void **state)
{
    (void)state;
    struct image m;
    put_sample(&m);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    uint32_t u;
    float f;
    bool b;
    struct qr_gguf_str s;
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_u32(g, "gone", &u, &err));
    assert_non_null(strstr(err.msg, "gone is missing"));
    assert_status(QUIRE_OK, qr_gguf_get_u32_or(g, "gone", 7, &u, &err));
    assert_int_equal(u, 7);
    assert_status(QUIRE_OK, qr_gguf_get_f32_or(g, "gone", 1.5f, &f, &err));
    assert_true(f == 1.5f);
    assert_status(QUIRE_OK, qr_gguf_get_bool_or(g, "gone", true, &b, &err));
    assert_true(b);
    assert_status(QUIRE_OK, qr_gguf_get_str_or(g, "gone", "dflt", &s, &err));
    assert_int_equal(s.size, 4);
    assert_status(QUIRE_OK, qr_gguf_get_str_or(g, "gone", NULL, &s, &err));
    assert_null(s.data);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_u32_or(g, "text", 7, &u, &err));
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_str_or(g, "u8", "x", &s, &err));
    qr_gguf_close(g);
    drop(&m);
}

static void test_arrays(void **state)
{
    (void)state;
    struct image m;
    put_sample(&m);
    struct qr_gguf *g;
    struct qr_gguf_array arr;
    struct qr_gguf_str s;
    int64_t v = 42;
    float f;
    bool b;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    assert_status(QUIRE_OK, qr_gguf_get_array(g, "words", &arr, &err));
    assert_int_equal(arr.count, 3);
    assert_true(qr_gguf_array_str(&arr, 2, &s));
    assert_int_equal(s.size, 5);
    assert_memory_equal(s.data, "three", 5);
    assert_true(qr_gguf_array_str(&arr, 1, &s) && s.size == 0);
    assert_false(qr_gguf_array_str(&arr, 3, &s));
    assert_false(qr_gguf_array_i64(&arr, 0, &v));
    assert_int_equal(v, 42);
    assert_status(QUIRE_OK, qr_gguf_get_array(g, "numbers", &arr, &err));
    assert_true(qr_gguf_array_i64(&arr, 0, &v) && v == -1);
    assert_true(qr_gguf_array_i64(&arr, 1, &v) && v == 2);
    assert_false(qr_gguf_array_i64(&arr, 2, &v) || qr_gguf_array_f32(&arr, 0, &f) ||
                 qr_gguf_array_bool(&arr, 0, &b) || qr_gguf_array_str(&arr, 0, &s));
    assert_status(QUIRE_OK, qr_gguf_get_array(g, "floats", &arr, &err));
    assert_true(qr_gguf_array_f32(&arr, 0, &f) && f == 1.0f);
    assert_status(QUIRE_OK, qr_gguf_get_array(g, "none", &arr, &err));
    assert_int_equal(arr.count, 0);
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_array(g, "u8", &arr, &err));
    assert_status(QUIRE_E_FORMAT, qr_gguf_get_array(g, "gone", &arr, &err));
    qr_gguf_close(g);
    drop(&m);
}

static void test_not_a_file(void **state)
{
    (void)state;
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    char fifo[] = "/tmp/quire-fifo-XXXXXX";
    assert_status(QUIRE_E_IO, qr_gguf_open("/nowhere/model.gguf", NULL, NULL, &g, &err));
    assert_non_null(strstr(err.msg, "/nowhere/model.gguf"));
    assert_status(QUIRE_E_IO, qr_gguf_open("/tmp", NULL, NULL, &g, &err));
    close(mkstemp(fifo));
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_status(QUIRE_E_IO,
                  qr_gguf_open(fifo, NULL, NULL, &g, &err)); /* must not wait for a writer */
    unlink(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_and_foreign_files),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_false_counts),
        cmocka_unit_test(test_string_lengths),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_value_types),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_absent_and_default),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_not_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
