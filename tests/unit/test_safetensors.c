/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors.c - safetensors headers, layouts, directories, shard indexes and reads. */
#include "format/safetensors.h"
#include "test_dir.h"

static const char *in_dir(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, uint64_t header_bytes, const char *header, size_t n,
                       size_t data)
{
    FILE *f = fopen(in_dir(name), "wb");
    assert_non_null(f);
    fwrite(&header_bytes, 1, sizeof header_bytes, f);
    fwrite(header, 1, n, f);
    for (size_t i = 0; i < data; i++)
        fputc((int)(i & 0xff), f);
    fclose(f);
}

static void write_st(const char *name, const char *header, size_t data)
{
    write_file(name, strlen(header), header, strlen(header), data);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Opens x.safetensors or the directory; checks status and message, and that no memory leaks. */
static void expect_open(bool directory, quire_status status, const char *text)
{
    struct fail_alloc f;
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 0, false);
    const quire_status got = directory
                                 ? qr_safetensors_open_dir(dir, &f.hooks, &s, &err)
                                 : qr_safetensors_open(in_dir("x.safetensors"), &f.hooks, &s, &err);
    if (got != status || (text && !strstr(err.msg, text)))
        print_error("got %s \"%s\", expected %s \"%s\"\n", quire_status_name(got), err.msg,
                    quire_status_name(status), text ? text : "");
    assert_int_equal(got, status);
    assert_true(!text || strstr(err.msg, text));
    qr_safetensors_close(s);
    assert_int_equal(f.live_count, 0);
}

static void expect(const char *header, size_t data, quire_status status, const char *text)
{
    write_st("x.safetensors", header, data);
    expect_open(false, status, text);
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static void test_header_length(void **state)
{
    (void)state;
    static const char ok[] = "{" T("a", "F32", "1", "0,4") "}";
    expect(ok, 4, QUIRE_OK, NULL);
    expect("{}", 0, QUIRE_OK, NULL);
    static const uint64_t lengths[] = { 0, sizeof ok + 100, UINT64_MAX, UINT64_MAX - 7 };
    for (size_t i = 0; i < 4; i++) {
        write_file("x.safetensors", lengths[i], ok, sizeof ok - 1, 4);
        expect_open(false, QUIRE_E_FORMAT, "header length");
    }
    write_text("x.safetensors", "1234567");
    expect_open(false, QUIRE_E_FORMAT, "has no header");
    write_text("x.safetensors", "");
    expect_open(false, QUIRE_E_FORMAT, "has no header");
    /* a sparse file with a header of 100,000,001 bytes */
    write_file("x.safetensors", 100000001, "{", 1, 0);
    assert_int_equal(truncate(in_dir("x.safetensors"), 100000100), 0);
    expect_open(false, QUIRE_E_LIMIT, "at most 100000000");
}

static void test_header_syntax(void **state)
{
    (void)state;
    static const char *const bad[] = {
        " {}",
        "[]",
        "{",
        "{}x",
        "{\"a\"}",
        "{\"a\":1}",
        "{\"a\":{}}",
        "{,}",
        "{" T("a", "F32", "1", "0,4") ",}",
        "{" T("a", "F32", "1", "0,4") "}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"extra\":1}}",
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}}",
        "{" T("", "F32", "1", "0,4") "}",
        "{" T("a\\u0000b", "F32", "1", "0,4") "}",
        "{" T("a\\ud800", "F32", "1", "0,4") "}",
        "{" T("a\\q", "F32", "1", "0,4") "}",
        "{" T("a\\ud83d\\u0041", "F32", "1", "0,4") "}",
        "{" T("a\\ud83d\\uffff", "F32", "1", "0,4") "}",
        "{" T("a\\ud83d\\uzzzz", "F32", "1", "0,4") "}",
        "{" T("a\\ud83dabcdef", "F32", "1", "0,4") "}",
        "{" T("a\\udc00", "F32", "1", "0,4") "}",
        "{" T("a\\u00g0", "F32", "1", "0,4") "}",
        "{\"a\\",
        "{\"a\\u00",
        "{\"a\\ud83d\\u",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1",
        "{" T("a\\u001b[2J", "F32", "1", "0,4") "}",
        "{" T("a\n", "F32", "1", "0,4") "}",
        "{" T("a\xff", "F32", "1", "0,4") "}",
        "{" T("a\xc0\x80", "F32", "1", "0,4") "}",
        "{" T("a\xed\xa0\x80", "F32", "1", "0,4") "}",
        "{" T("a\xe2\x82", "F32", "1", "0,4") "}",
        "{" T("a", "F32", "-1", "0,4") "}",
        "{" T("a", "F32", "1.0", "0,4") "}",
        "{" T("a", "F32", "1e0", "0,4") "}",
        "{" T("a", "F32", "01", "0,4") "}",
        "{" T("a", "F32", "1,", "0,4") "}",
        "{" T("a", "F32", "1", "-0,4") "}",
        "{" T("a", "F32", "1", "0,4.0") "}",
        "{" T("a", "F32", "1", "0") "}",
        "{" T("a", "F32", "1", "0,4,4") "}",
        "{" T("a", "F32", "1", "0,18446744073709551616") "}",
        "{" T("a", "F32", "1", "0,99999999999999999999") "}",
        "{" T("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4") "}",
        "{\"__metadata__\":1}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":{\"a\":{}}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i], 4, QUIRE_E_FORMAT, NULL);
    expect("{" T("a", "F31", "1", "0,4") "}", 4, QUIRE_E_UNSUPPORTED, "dtype F31");
    expect("{\"__metadata__\":{\"format\":\"pt\"}," T("a", "F32", "1", "0,4") "}   ", 4, QUIRE_OK,
           NULL);
    expect("{ \"a\" : { \"shape\" : [ ] , \"dtype\" : \"F32\" , \"data_offsets\" : [ 0 , 4 ] } }",
           4, QUIRE_OK, NULL);
}

static void test_layout(void **state)
{
    (void)state;
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "8,11") "}", 11, QUIRE_OK, NULL);
    expect("{" T("b", "U8", "3", "8,11") "," T("a", "F32", "2", "0,8") "}", 11, QUIRE_OK, NULL);
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "8,11") "}", 12, QUIRE_E_FORMAT,
           "after the last");
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "8,11") "}", 10, QUIRE_E_FORMAT,
           "tensor b exceeds");
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "9,12") "}", 12, QUIRE_E_FORMAT,
           "tensor b begins");
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "7,10") "}", 10, QUIRE_E_FORMAT,
           "tensor b begins");
    expect("{" T("a", "F32", "2", "0,8") "," T("b", "U8", "8", "0,8") "}", 8, QUIRE_E_FORMAT,
           "begins");
    expect("{" T("a", "F32", "2", "4,12") "}", 12, QUIRE_E_FORMAT, "tensor a begins");
    expect("{" T("a", "F32", "2", "0,7") "}", 7, QUIRE_E_FORMAT, "do not match");
    expect("{" T("a", "F32", "2", "8,0") "}", 8, QUIRE_E_FORMAT, "do not match");
    expect("{" T("a", "F32", "0", "0,0") "}", 0, QUIRE_E_FORMAT, "zero");
    expect("{" T("a", "F32", "4294967296,4294967296", "0,0") "}", 0, QUIRE_E_FORMAT,
           "more elements");
    expect("{" T("a", "F32", "2305843009213693953,2", "0,8") "}", 8, QUIRE_E_FORMAT, "");
    expect("{" T("a", "F32", "4611686018427387905", "0,4") "}", 4, QUIRE_E_FORMAT, "more elements");
    expect("{" T("a", "U8", "4", "0,4") "," T("a", "F32", "1", "4,8") "}", 8, QUIRE_E_FORMAT,
           "a appears twice");
    expect("{" T("a", "U8", "4", "0,4") "," T("\\u0061", "F32", "1", "4,8") "}", 8, QUIRE_E_FORMAT,
           "a appears twice");
}

static void test_access(void **state)
{
    (void)state;
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t i;
    uint8_t b[8];
    write_st("x.safetensors",
             "{" T("w\\u00e9\\ud83d\\ude00\\n\\\"", "U8", "1", "0,1") "," T("m", "BF16", "2,3",
                                                                            "1,13") "}",
             13);
    assert_status(QUIRE_E_FORMAT,
                  qr_safetensors_open(in_dir("x.safetensors"), NULL, &s, &err)); /* \n in a name */
    write_st(
        "x.safetensors",
        "{" T("w\\u00e9\\ud83d\\ude00\\\"", "U8", "1", "0,1") "," T("m", "BF16", "2,3", "1,13") "}",
        13);
    assert_status(QUIRE_OK, qr_safetensors_open(in_dir("x.safetensors"), NULL, &s, &err));
    assert_int_equal(qr_safetensors_count(s), 2);
    assert_true(qr_safetensors_find(s, "w\xc3\xa9\xf0\x9f\x98\x80\"", &i));
    assert_string_equal(qr_safetensors_tensor(s, i)->name, "w\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_true(qr_safetensors_find(s, "m", &i));
    const struct qr_safetensor *t = qr_safetensors_tensor(s, i);
    assert_true(t->dtype == QR_DTYPE_BF16 && t->n_dims == 2 && t->shape[0] == 2 &&
                t->shape[1] == 3 && t->bytes == 12);
    assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 10, 2, b, &err));
    assert_int_equal(b[0], 11);
    assert_status(QUIRE_E_RANGE, qr_safetensors_read_range(s, i, 10, 3, b, &err));
    assert_status(QUIRE_E_RANGE, qr_safetensors_read_range(s, i, UINT64_MAX, 2, b, &err));
    assert_status(QUIRE_E_RANGE, qr_safetensors_read_range(s, 2, 0, 1, b, &err));
    assert_false(qr_safetensors_find(s, "n", &i));
    qr_safetensors_close(s);
}

static void test_index(void **state)
{
    (void)state;
    unlink(in_dir("model.safetensors"));
    write_st("m1.safetensors", "{" T("a", "F32", "1", "0,4") "}", 4);
    write_st("m2.safetensors", "{" T("b", "F32", "1", "0,4") "," T("c", "U8", "4", "4,8") "}", 8);
    expect_open(true, QUIRE_E_IO, "model.safetensors");
    static const struct {
        const char *map;
        quire_status status;
        const char *text;
    } cases[] = {
        { "{\"a\":\"m1.safetensors\",\"b\":\"m2.safetensors\",\"c\":\"m2.safetensors\"}", QUIRE_OK,
          NULL },
        { "{\"a\":\"m1.safetensors\"}", QUIRE_OK, NULL },
        { "{\"a\":\"m2.safetensors\"}", QUIRE_E_FORMAT, "tensor a is not in m2" },
        { "{\"a\":\"m1.safetensors\",\"b\":\"m1.safetensors\"}", QUIRE_E_FORMAT,
          "tensor b is not in m1" },
        { "{\"a\":\"m3.safetensors\"}", QUIRE_E_IO, "m3.safetensors" },
        { "{\"a\":\"/etc/passwd\"}", QUIRE_E_FORMAT, "not /etc/passwd" },
        { "{\"a\":\"../x.safetensors\"}", QUIRE_E_FORMAT, "same directory" },
        { "{\"a\":\"d/x.safetensors\"}", QUIRE_E_FORMAT, "same directory" },
        { "{\"a\":\".safetensors\"}", QUIRE_E_FORMAT, "same directory" },
        { "{\"a\":\"..safetensors\"}", QUIRE_E_FORMAT, "same directory" },
        { "{\"a\":\"\"}", QUIRE_E_FORMAT, "same directory" },
        { "{\"a\":1}", QUIRE_E_FORMAT, "not a string" },
        { "{\"a\":null}", QUIRE_E_FORMAT, "not a string" },
        { "[]", QUIRE_E_FORMAT, "weight_map" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":12},\"weight_map\":%s}",
                 cases[i].map);
        write_text("model.safetensors.index.json", text);
        expect_open(true, cases[i].status, cases[i].text);
    }
    write_st("m1.safetensors", "{" T("b", "F32", "1", "0,4") "}", 4);
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"b\":\"m1.safetensors\",\"c\":\"m2.safetensors\"}}");
    expect_open(true, QUIRE_E_FORMAT, "b appears twice");
    write_text("model.safetensors.index.json", "{\"weight_map\":");
    expect_open(true, QUIRE_E_FORMAT, "index.json");
    write_st("model.safetensors", "{" T("a", "F32", "1", "0,4") "}",
             4); /* a single file takes precedence */
    expect_open(true, QUIRE_OK, NULL);
    unlink(in_dir("model.safetensors"));
    unlink(in_dir("model.safetensors.index.json"));
}

static void test_truncation_and_flips(void **state)
{
    (void)state;
    char header[] = "{\"__metadata__\":{\"k\":\"v\"}," T("a\\u00e9", "F32", "1,2", "0,8") "," T(
        "b", "BF16", "2", "8,12") "} ";
    const size_t n = sizeof header - 1;
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    expect(header, 12, QUIRE_OK, NULL);
    for (size_t size = 0; size < 8 + n + 12; size++) {
        write_st("x.safetensors", header, 12);
        assert_int_equal(truncate(in_dir("x.safetensors"), (off_t)size), 0);
        expect_open(false, QUIRE_E_FORMAT, NULL);
    }
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            header[i] ^= (char)(1 << bit);
            write_file("x.safetensors", n, header, n, 12);
            const quire_status got = qr_safetensors_open(in_dir("x.safetensors"), NULL, &s, &err);
            assert_true((got == QUIRE_OK) == (s != NULL));
            qr_safetensors_close(s);
            header[i] ^= (char)(1 << bit);
        }
}

static void test_allocation_failures(void **state)
{
    (void)state;
    write_st("m1.safetensors", "{" T("a", "F32", "1", "0,4") "}", 4);
    write_st("m2.safetensors", "{" T("b", "F32", "1", "0,4") "}", 4);
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m1.safetensors\",\"b\":\"m2.safetensors\"}}");
    for (int forever = 0; forever < 2; forever++)
        for (size_t n = 1;; n++) {
            struct fail_alloc f;
            struct qr_safetensors *s;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, n, forever);
            const quire_status got = qr_safetensors_open_dir(dir, &f.hooks, &s, &err);
            qr_safetensors_close(s);
            assert_int_equal(f.live_count, 0);
            if (got == QUIRE_OK)
                break;
            assert_int_equal(got, QUIRE_E_NOMEM);
        }
}

/* Many tensors in reverse order of offset: sorting and the duplicate check are not quadratic. */
static void test_many_tensors(void **state)
{
    (void)state;
    enum { N = 200000, ENTRY = 80 };
    char *header = malloc((size_t)N * ENTRY + 2), *p = header;
    *p++ = '{';
    for (int i = N - 1; i >= 0; i--)
        p += sprintf(p, "%s\"%x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                     i == N - 1 ? "" : ",", i, i, i + 1);
    *p++ = '}';
    *p = 0;
    expect(header, N, QUIRE_OK, NULL);
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_length), cmocka_unit_test(test_header_syntax),
        cmocka_unit_test(test_layout),        cmocka_unit_test(test_access),
        cmocka_unit_test(test_index),         cmocka_unit_test(test_truncation_and_flips),
        cmocka_unit_test(test_many_tensors),  cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
