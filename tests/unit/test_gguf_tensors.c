/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_tensors.c - GGUF tensor directory: shapes, types, data layout, alignment, reads. */
#include "test_gguf.h"

enum { F32 = 0, Q8_0 = 8 };

/* One tensor, 64 bytes of data after the padded header. */
static void put_one(struct image *m, const char *name, uint32_t type, uint32_t n_dims,
                    const uint64_t *dims, uint64_t offset)
{
    put_head(m, 3, 1, 0);
    put_tensor(m, name, type, n_dims < 8 ? n_dims : 0, dims, offset);
    pad_to(m, 32);
    for (uint8_t i = 0; i < 64; i++)
        put_u8(m, i);
}

static void expect_one(const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
                       uint64_t offset, quire_status status, const char *text)
{
    struct image m;
    put_one(&m, name, type, n_dims, dims, offset);
    expect(&m, status, text);
}

static void test_dimensions(void **state)
{
    (void)state;
    const uint64_t good[4] = { 4, 2, 2, 1 };
    for (uint32_t n = 1; n <= 4; n++)
        expect_one("t", F32, n, good, 0, QUIRE_OK, NULL);
    struct image m;
    static const uint32_t bad_counts[] = { 0, 5, UINT32_MAX };
    for (size_t i = 0; i < 3; i++) {
        put_head(&m, 3, 1, 0);
        put_str(&m, "t");
        put_u32(&m, bad_counts[i]);
        for (int k = 0; k < 20; k++)
            put_u64(&m, 1);
        expect(&m, QUIRE_E_FORMAT, "dimensions");
    }
    static const uint64_t bad[][2] = {
        { 0, 1 },
        { 4, 0 },
        { UINT64_MAX, 1 },
        { 1ull << 63, 1 },
        { 1ull << 32, 1ull << 32 },
        { 1ull << 62, 8 },
        { 1ull << 61, 1 },
        { 17, 1 },
        { 1ull << 40, 1ull << 20 },
        { 4, INT64_MAX },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_one("t", F32, 2, bad[i], 0, QUIRE_E_FORMAT, "tensor t");
    /* the size in bytes, and the size rounded up to the alignment, overflow by a little */
    const uint64_t wraps[2] = { (1ull << 62) - 1, 1 };
    expect_one("t", F32, 2, wraps, 0, QUIRE_E_FORMAT, "tensor t");
}

static void test_types(void **state)
{
    (void)state;
    const uint64_t dims[2] = { 32, 1 };
    static const uint32_t unknown[] = { 4,  5,  31,  32,   33,         36,     37,
                                        38, 43, 144, 1000, UINT32_MAX, 0x10000 };
    expect_one("t", Q8_0, 2, dims, 0, QUIRE_OK, NULL);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        expect_one("some.weight", unknown[i], 2, dims, 0, QUIRE_E_UNSUPPORTED, "some.weight");
    expect_one("t", 144, 2, dims, 0, QUIRE_E_UNSUPPORTED, "type IQ4_KS is a type of ik_llama.cpp;");
    expect_one("t", 212, 2, dims, 0, QUIRE_E_UNSUPPORTED, "type Q4_K_R4 has rows repacked");
    const uint64_t odd[2] = { 33, 1 }, half[2] = { 128, 2 };
    expect_one("t", Q8_0, 2, odd, 0, QUIRE_E_FORMAT, "not a multiple of 32");
    expect_one("t", 14, 2, half, 0, QUIRE_E_FORMAT, "not a multiple of 256");
}

static void test_names(void **state)
{
    (void)state;
    const uint64_t dims[1] = { 4 };
    char name[300];
    memset(name, 'n', sizeof name);
    name[256] = 0;
    expect_one(name, F32, 1, dims, 0, QUIRE_E_FORMAT, "at most 255");
    name[255] = 0;
    expect_one(name, F32, 1, dims, 0, QUIRE_OK, NULL);
    expect_one("", F32, 1, dims, 0, QUIRE_E_FORMAT, "empty tensor name");
    expect_one("a\033[2Jb", F32, 1, dims, 0, QUIRE_E_FORMAT, "control character 0x1b");
}

/* Two tensors of 16 bytes at the given offsets in a data section of `bytes` bytes. */
static void expect_two(const char *second, uint64_t offset0, uint64_t offset1, size_t bytes,
                       quire_status status, const char *text)
{
    const uint64_t dims[1] = { 4 };
    struct image m;
    put_head(&m, 3, 2, 0);
    put_tensor(&m, "a", F32, 1, dims, offset0);
    put_tensor(&m, second, F32, 1, dims, offset1);
    pad_to(&m, 32);
    for (size_t i = 0; i < bytes; i++)
        put_u8(&m, 0);
    expect(&m, status, text);
}

static void test_layout(void **state)
{
    (void)state;
    expect_two("b", 0, 32, 64, QUIRE_OK, NULL);
    expect_two("b", 0, 32, 48, QUIRE_OK, NULL); /* no padding after the last tensor */
    expect_two("b", 0, 32, 47, QUIRE_E_FORMAT, "tensor b: 16 bytes at offset 32 exceed");
    expect_two("b", 0, 16, 64, QUIRE_E_FORMAT, "tensor b: offset 16, expected 32"); /* misaligned */
    expect_two("b", 0, 0, 64, QUIRE_E_FORMAT, "tensor b: offset 0");   /* overlapping */
    expect_two("b", 32, 0, 64, QUIRE_E_FORMAT, "tensor a: offset 32"); /* out of order */
    expect_two("b", 0, 64, 96, QUIRE_E_FORMAT, "tensor b: offset 64"); /* a gap */
    expect_two("b", 0, UINT64_MAX - 31, 64, QUIRE_E_FORMAT, "tensor b");
    expect_two("a", 0, 32, 64, QUIRE_E_FORMAT, "a appears twice");
}

static void test_alignment(void **state)
{
    (void)state;
    static const struct {
        uint32_t value;
        quire_status status;
    } cases[] = { { 0, QUIRE_E_FORMAT }, { 3, QUIRE_E_FORMAT },      { 4, QUIRE_E_FORMAT },
                  { 8, QUIRE_OK },       { 24, QUIRE_E_FORMAT },     { 64, QUIRE_OK },
                  { 65536, QUIRE_OK },   { 131072, QUIRE_E_FORMAT }, { 1u << 31, QUIRE_E_FORMAT } };
    const uint64_t dims[1] = { 4 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct image m;
        const size_t align = cases[i].status == QUIRE_OK ? cases[i].value : 32,
                     second = align < 16 ? 16 : align;
        put_head(&m, 3, 2, 1);
        put_kv_u32(&m, "general.alignment", cases[i].value);
        put_tensor(&m, "a", F32, 1, dims, 0);
        put_tensor(&m, "b", F32, 1, dims, second);
        pad_to(&m, align);
        for (size_t k = 0; k < second + 16; k++)
            put_u8(&m, 0);
        expect(&m, cases[i].status, cases[i].status == QUIRE_OK ? NULL : "general.alignment");
    }
    struct image m;
    put_head(&m, 3, 0, 1);
    put_key(&m, "general.alignment", QR_GGUF_I32);
    put_u32(&m, 32);
    expect(&m, QUIRE_E_FORMAT, "general.alignment has type i32");
}

static void count_warning(void *user, enum quire_log_level level, quire_status code,
                          const char *msg)
{
    (void)code;
    if (level == QUIRE_LOG_WARN && strstr(msg, "after the last tensor"))
        ++*(int *)user;
}

static void test_trailing_bytes(void **state)
{
    (void)state;
    const uint64_t dims[1] = { 16 };
    struct image m;
    int warnings = 0;
    const struct quire_logger log = { &warnings, count_warning };
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    put_one(&m, "t", F32, 1, dims, 0);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, &log, &g, &err));
    assert_int_equal(qr_gguf_trailing_bytes(g), 0);
    qr_gguf_close(g);
    put(&m, "PK\3\4", 4);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, &log, &g, &err));
    assert_int_equal(qr_gguf_trailing_bytes(g), 4);
    assert_int_equal(warnings, 1);
    qr_gguf_close(g);
    drop(&m);
}

static void check_reads(const struct qr_gguf *g)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    uint8_t bytes[64];
    size_t i;
    assert_true(qr_gguf_find_tensor(g, "t", &i));
    assert_false(qr_gguf_find_tensor(g, "u", &i));
    assert_int_equal(i, 0);
    const struct qr_gguf_tensor *t = qr_gguf_tensor(g, 0);
    assert_string_equal(t->name, "t");
    assert_int_equal(t->bytes, 64);
    assert_true(t->dims[0] == 8 && t->dims[1] == 2 && t->dims[2] == 1 && t->dims[3] == 1);
    assert_null(qr_gguf_tensor(g, 1));
    assert_status(QUIRE_OK, qr_gguf_read_tensor(g, 0, bytes, 64, &err));
    for (uint8_t k = 0; k < 64; k++)
        assert_int_equal(bytes[k], k);
    assert_status(QUIRE_E_INVALID_ARG, qr_gguf_read_tensor(g, 0, bytes, 63, &err));
    assert_status(QUIRE_OK, qr_gguf_read_range(g, 0, 60, 4, bytes, &err));
    assert_int_equal(bytes[0], 60);
    assert_status(QUIRE_OK, qr_gguf_read_range(g, 0, 64, 0, bytes, &err));
    assert_status(QUIRE_E_RANGE, qr_gguf_read_range(g, 0, 60, 5, bytes, &err));
    assert_status(QUIRE_E_RANGE, qr_gguf_read_range(g, 0, UINT64_MAX, 2, bytes, &err));
    assert_status(QUIRE_E_RANGE, qr_gguf_read_range(g, 1, 0, 1, bytes, &err));
}

static void test_reads(void **state)
{
    (void)state;
    const uint64_t dims[2] = { 8, 2 };
    struct image m;
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    put_one(&m, "t", F32, 2, dims, 0);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    check_reads(g);
    qr_gguf_close(g);
    char *path = to_file(&m);
    assert_status(QUIRE_OK, qr_gguf_open(path, NULL, NULL, &g, &err));
    check_reads(g);
    /* the file is truncated while it is open */
    assert_int_equal(truncate(path, (off_t)m.size - 1), 0);
    uint8_t bytes[64];
    assert_status(QUIRE_E_IO, qr_gguf_read_tensor(g, 0, bytes, 64, &err));
    assert_int_equal(err.offset, m.size - 1);
    qr_gguf_close(g);
    unlink(path);
    free(path);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dimensions), cmocka_unit_test(test_types),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_layout),
        cmocka_unit_test(test_alignment),  cmocka_unit_test(test_trailing_bytes),
        cmocka_unit_test(test_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
