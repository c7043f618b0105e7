/* SPDX-License-Identifier: Apache-2.0 */
/* test_format_calls.c - calls of the file readers at the limits of their arguments: paths, ranges,
 * keys that are missing or of another type, files that are too large or no files. */
#include "format/file.h"
#include "format/gguf_value.h"
#include "format/json.h"
#include "format/replace_file.h"
#include "format/safetensors.h"
#include "format/safetensors_header.h"
#include "test_dir.h"
#include "test_gguf.h"
#include <sys/resource.h>

static const char *in_dir(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_bytes(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(in_dir(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void expect_message(quire_status expected, quire_status got, const struct quire_error *err,
                           const char *text)
{
    if (got != expected || !strstr(err->msg, text))
        print_error("got %s \"%s\", expected \"%s\"\n", quire_status_name(got), err->msg, text);
    assert_int_equal(got, expected);
    assert_non_null(strstr(err->msg, text));
}

static void test_paths(void **state)
{
    (void)state;
    char path[301];
    struct qr_file f;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_string_equal(qr_path_base("a.gguf"), "a.gguf");
    assert_string_equal(qr_path_base("/x/a.gguf"), "a.gguf");
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    memcpy(path + 290, "/a.gguf", 8);
    assert_ptr_equal(qr_path_tail(path), path + strlen(path) - 140);
    expect_message(QUIRE_E_IO, qr_file_open(&f, path, &err), &err, "x/a.gguf");
    assert_false(f.is_open);
    expect_message(QUIRE_E_IO, qr_file_open(&f, dir, &err), &err, "is not a regular file");
    assert_true(qr_path_is_dir(dir));
    assert_false(qr_path_is_dir(in_dir("absent")));
    write_bytes("plain", "12345678", 8);
    assert_false(qr_path_is_dir(in_dir("plain")));
}

static void test_reads(void **state)
{
    (void)state;
    struct qr_file f;
    struct quire_error err = QUIRE_ERROR_INIT;
    char text[8], *loaded;
    size_t size;
    write_bytes("plain", "12345678", 8);
    assert_status(QUIRE_OK, qr_file_open(&f, in_dir("plain"), &err));
    assert_status(QUIRE_OK, qr_file_read(&f, 0, text, 8, &err));
    expect_message(QUIRE_E_IO, qr_file_read(&f, 1, text, 8, &err), &err, "file ends at byte 8");
    expect_message(QUIRE_E_IO, qr_file_read(&f, UINT64_MAX, text, 8, &err), &err,
                   "file ends at byte 8");
    assert_int_equal(truncate(in_dir("plain"), 4), 0);
    expect_message(QUIRE_E_IO, qr_file_read(&f, 0, text, 8, &err), &err, "ends at byte 4");
    qr_file_close(&f);
    expect_message(QUIRE_E_LIMIT, qr_file_load(in_dir("plain"), 3, NULL, &loaded, &size, &err),
                   &err, "plain has 4 bytes, at most 3 allowed");
    assert_null(loaded);
    expect_message(QUIRE_E_IO, qr_file_load(in_dir("absent"), 3, NULL, &loaded, &size, &err), &err,
                   "absent");
}

/* A read fails on a descriptor that is not open for reading; the message has the offset. */
static void test_read_error(void **state)
{
    (void)state;
    char text[8];
    FILE *out = fopen(in_dir("plain"), "wb");
    assert_non_null(out);
    const struct qr_file f = { .is_open = true, .fd = fileno(out), .size = 8 };
    struct quire_error err = QUIRE_ERROR_INIT;
    expect_message(QUIRE_E_IO, qr_file_read(&f, 3, text, 4, &err), &err, "read error at byte 3");
    assert_int_equal(err.offset, 3);
    assert_status(QUIRE_E_IO, qr_file_read(&f, 3, text, 4, NULL));
    struct quire_error first = { .struct_size = 0 }; /* of the first version, without offsets */
    expect_message(QUIRE_E_IO, qr_file_read(&f, 3, text, 4, &first), &first, "read error");
    fclose(out);
}

static void test_json(void **state)
{
    (void)state;
    static const char twice[] = "{\"a\":1,\"a\":2}", list[] = "[1]";
    struct qr_json *root;
    struct quire_error err = QUIRE_ERROR_INIT;
    expect_message(QUIRE_E_FORMAT,
                   qr_json_parse_object(twice, strlen(twice), "x.json", 0, NULL, &root, &err), &err,
                   "x.json: duplicate key a (byte 7)");
    assert_null(root);
    expect_message(QUIRE_E_FORMAT,
                   qr_json_parse_object(list, strlen(list), "x.json", 0, NULL, &root, &err), &err,
                   "x.json is not a JSON object");
}

/* ---- Getters of GGUF metadata */

static void test_getters(void **state)
{
    (void)state;
    static const uint32_t types[] = { QR_GGUF_U8,  QR_GGUF_I8,  QR_GGUF_U16, QR_GGUF_I16,
                                      QR_GGUF_U32, QR_GGUF_I32, QR_GGUF_U64, QR_GGUF_I64 };
    enum { N = sizeof types / sizeof *types };
    struct image m;
    char key[8];
    put_head(&m, 3, 0, N + 1);
    for (uint32_t i = 0; i < N; i++) {
        const uint64_t value = 100;
        snprintf(key, sizeof key, "k%u", i);
        put_key(&m, key, types[i]);
        put(&m, &value, qr_gguf_value_bytes(types[i]));
    }
    put_kv_array(&m, "list", QR_GGUF_BOOL, 1);
    put_u8(&m, 1);
    pad_to(&m, 32);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    for (uint32_t i = 0; i < N; i++) {
        int64_t v;
        uint64_t u;
        snprintf(key, sizeof key, "k%u", i);
        assert_status(QUIRE_OK, qr_gguf_get_i64(g, key, &v, &err));
        assert_status(QUIRE_OK, qr_gguf_get_u64(g, key, &u, &err));
        assert_true(v == 100 && u == 100);
    }
    int64_t v;
    uint64_t u;
    float x;
    bool b;
    struct qr_gguf_str s;
    struct qr_gguf_array list;
    expect_message(QUIRE_E_FORMAT, qr_gguf_get_i64(g, "no", &v, &err), &err, "key no is missing");
    expect_message(QUIRE_E_FORMAT, qr_gguf_get_u64(g, "no", &u, &err), &err, "key no is missing");
    expect_message(QUIRE_E_FORMAT, qr_gguf_get_bool(g, "no", &b, &err), &err, "key no is missing");
    expect_message(QUIRE_E_FORMAT, qr_gguf_get_str(g, "no", &s, &err), &err, "key no is missing");
    assert_status(QUIRE_OK, qr_gguf_get_array(g, "list", &list, &err));
    assert_true(qr_gguf_array_bool(&list, 0, &b) && b);
    assert_false(qr_gguf_array_bool(&list, 1, &b));
    assert_false(qr_gguf_array_f32(&list, 1, &x));
    assert_false(qr_gguf_array_i64(&list, 1, &v));
    assert_string_equal(qr_gguf_value_name(QR_GGUF_F32), "f32");
    assert_string_equal(qr_gguf_value_name(10000), "unknown");
    assert_status(QUIRE_E_RANGE, qr_gguf_read_tensor(g, 0, &x, sizeof x, &err));
    qr_gguf_close(g);
    drop(&m);
}

/* A header of more than 1 GiB, of which the file keeps only the beginning. */
static void test_large_header(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1u << 20, 1u << 30 };
    for (size_t i = 0; i < 2; i++) {
        struct image m;
        struct qr_gguf *g;
        struct quire_error err = QUIRE_ERROR_INIT;
        put_head(&m, 3, i, 2);
        put_kv_array(&m, "first", QR_GGUF_U8, sizes[i]);
        write_bytes("large.gguf", m.data, m.size);
        assert_int_equal(truncate(in_dir("large.gguf"), (off_t)(sizes[i] + 4096)), 0);
        /* zeros follow: a key without characters */
        expect_message(i ? QUIRE_E_LIMIT : QUIRE_E_FORMAT,
                       qr_gguf_open(in_dir("large.gguf"), NULL, NULL, &g, &err), &err,
                       i ? "the GGUF header is larger than 1073741824 bytes" : "is empty");
        drop(&m);
    }
}

/* ---- Names of split files */

static void put_split(const char *name, bool text)
{
    struct image m;
    put_head(&m, 3, 0, 3);
    put_kv_u32(&m, "split.no", 0);
    if (text)
        put_kv_str(&m, "split.count", "two");
    else
        put_kv_u32(&m, "split.count", 2);
    put_kv_u32(&m, "split.tensors.count", 0);
    pad_to(&m, 32);
    write_bytes(name, m.data, m.size);
    drop(&m);
}

static void test_split_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a.gguf",
        "model_00001-of-00002.gguf",
        "model-00001+of-00002.gguf",
        "model-00001-of-00002.gguk",
        "model-0000x-of-00002.gguf",
        "model-00001-of-0000+.gguf",
        "model-00000-of-00002.gguf",
        "model-00003-of-00002.gguf",
        "model-00001-of-00003.gguf",
    };
    char old[4096];
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(dir), 0); /* a path that is shorter than the suffix */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_split(names[i], false);
        expect_message(QUIRE_E_FORMAT, qr_gguf_open(names[i], NULL, NULL, &g, &err), &err,
                       "must be NAME-00001-of-00002.gguf");
        assert_non_null(strstr(err.msg, names[i]));
    }
    assert_int_equal(chdir(old), 0);
    put_split("text.gguf", true);
    expect_message(QUIRE_E_FORMAT, qr_gguf_open(in_dir("text.gguf"), NULL, NULL, &g, &err), &err,
                   "split.count has type string");
    put_split("m-00001-of-00002.gguf", false);
    put_split("m-00002-of-00002.gguf", false);
    assert_status(QUIRE_E_FORMAT,
                  qr_gguf_open(in_dir("m-00001-of-00002.gguf"), NULL, NULL, &g, NULL));
    struct quire_error first = { .struct_size = 0 };
    expect_message(QUIRE_E_FORMAT,
                   qr_gguf_open(in_dir("m-00001-of-00002.gguf"), NULL, NULL, &g, &first), &first,
                   "split.no");
}

/* The keys of a shard with a wrong type; the message names the file. */
static void test_split_types(void **state)
{
    (void)state;
    static const char *const keys[] = { "split.no", "split.count", "split.tensors.count" };
    for (size_t wrong = 0; wrong < 3; wrong++)
        for (uint32_t shard = 0; shard < 2; shard++) {
            struct image m;
            const uint32_t values[] = { shard, 2, 0 };
            put_head(&m, 3, 0, 3);
            for (size_t i = 0; i < 3; i++)
                if (i == wrong && (i < 2) == (shard == 1))
                    put_kv_str(&m, keys[i], "x");
                else
                    put_kv_u32(&m, keys[i], values[i]);
            pad_to(&m, 32);
            write_bytes(shard ? "m-00002-of-00002.gguf" : "m-00001-of-00002.gguf", m.data, m.size);
            drop(&m);
            if (!shard)
                continue;
            struct qr_gguf *g;
            struct quire_error err = QUIRE_ERROR_INIT;
            expect_message(QUIRE_E_FORMAT,
                           qr_gguf_open(in_dir("m-00001-of-00002.gguf"), NULL, NULL, &g, &err),
                           &err, keys[wrong]);
            assert_non_null(strstr(err.msg, "has type string"));
        }
    struct image m;
    put_head(&m, 3, 0, 1);
    put_kv_str(&m, "split.count", "x");
    expect(&m, QUIRE_E_FORMAT, "split.count has type string");
}

/* ---- safetensors */

#define ONE_TENSOR "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}"

static void put_safetensors(const char *name, const char *header)
{
    char bytes[256];
    const uint64_t n = strlen(header);
    memcpy(bytes, &n, sizeof n);
    memcpy(bytes + sizeof n, header, n);
    bytes[sizeof n + n] = 1;
    write_bytes(name, bytes, sizeof n + n + 1);
}

static void test_safetensors_header(void **state)
{
    (void)state;
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    put_safetensors("x.safetensors",
                    ONE_TENSOR ",\r\n\t\"__metadata__\":{\"a\":\"1\",\"b\":\"\\u00C9\"}}");
    assert_status(QUIRE_OK, qr_safetensors_open(in_dir("x.safetensors"), NULL, &s, &err));
    assert_int_equal(qr_safetensors_count(s), 1);
    assert_non_null(qr_safetensors_file(s, 0));
    assert_null(qr_safetensors_file(s, 1));
    qr_safetensors_close(s);
    size_t n = 1;
    expect_message(QUIRE_E_FORMAT, qr_safetensors_parse((char[1]){ 0 }, 0, NULL, &n, &err), &err,
                   "{ expected at byte 8");
    assert_int_equal(n, 0);
}

static void test_index_names(void **state)
{
    (void)state;
    static const char *const names[] = { "\"sub/m.safetensors\"",
                                         "\"sub\\\\m.safetensors\"",
                                         "\".m.safetensors\"",
                                         "\"m.safetensor\"",
                                         "\".safetensors\"",
                                         "\"m.safetensors2\"",
                                         "\"long-enough-but-another-suffix.bin\"" };
    char text[256];
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    unlink(in_dir("model.safetensors"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const int n = snprintf(text, sizeof text, "{\"weight_map\":{\"a\":%s}}", names[i]);
        write_bytes("model.safetensors.index.json", text, (size_t)n);
        expect_message(QUIRE_E_FORMAT, qr_safetensors_open_dir(dir, NULL, &s, &err), &err,
                       "weight_map: a must name a .safetensors file");
    }
    put_safetensors("m1.safetensors", ONE_TENSOR "}");
    put_safetensors("m2.safetensors", "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],"
                                      "\"data_offsets\":[0,1]}}");
    static const char swapped[] =
        "{\"weight_map\":{\"a\":\"m2.safetensors\",\"b\":\"m1.safetensors\"}}";
    write_bytes("model.safetensors.index.json", swapped, strlen(swapped));
    expect_message(QUIRE_E_FORMAT, qr_safetensors_open_dir(dir, NULL, &s, &err), &err,
                   "tensor a is not in m2.safetensors");
}

/* An index of more files than a model may have. */
static void test_index_limit(void **state)
{
    (void)state;
    struct rlimit files = { 2048, 2048 };
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_max < 2048) {
        printf("skipped: the process may open only %llu files\n",
               (unsigned long long)files.rlim_max);
        skip();
    }
    files.rlim_cur = files.rlim_cur < 2048 ? 2048 : files.rlim_cur;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    enum { FILES = 1025, ENTRY = 64 };
    char *text = malloc(FILES * ENTRY), *p = text, name[32], header[128];
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    p += sprintf(p, "{\"weight_map\":{");
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "n%d.safetensors", i);
        snprintf(header, sizeof header,
                 "{\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", i);
        put_safetensors(name, header);
        p += sprintf(p, "%s\"t%d\":\"%s\"", i ? "," : "", i, name);
    }
    p += sprintf(p, "}}");
    write_bytes("model.safetensors.index.json", text, (size_t)(p - text));
    expect_message(QUIRE_E_LIMIT, qr_safetensors_open_dir(dir, NULL, &s, &err), &err,
                   "weight_map names more than 1024 files");
    free(text);
}

/* ---- Replaced files */

static void test_replace_errors(void **state)
{
    (void)state;
    struct qr_replacement r;
    struct quire_error err = QUIRE_ERROR_INIT;
    char path[256], text[300];
    snprintf(path, sizeof path, "%s", in_dir("folder"));
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(text, sizeof text, "%s/x", path); /* a folder with contents cannot be replaced */
    fclose(fopen(text, "wb"));
    qr_replace_begin(&r, path, 0600, 4, NULL);
    qr_replace_put(&r, "text", 4);
    qr_replace_commit(&r);
    expect_message(QUIRE_E_IO, qr_replace_end(&r, &err), &err, "folder cannot be written");
    unlink(text);
    rmdir(path);
    qr_replace_begin(&r, in_dir("absent/file"), 0600, 4, NULL);
    qr_replace_put(&r, "text", 4);
    qr_replace_put_zeros(&r, 4);
    qr_replace_seek(&r, 100);
    qr_replace_commit(&r);
    expect_message(QUIRE_E_IO, qr_replace_end(&r, &err), &err, "file cannot be written");
    qr_replace_remove_leftovers(in_dir("absent/file"), NULL);
    qr_replace_begin(&r, in_dir("plain"), 0600, 4, NULL);
    qr_replace_seek(&r, UINT64_MAX);
    qr_replace_commit(&r);
    expect_message(QUIRE_E_IO, qr_replace_end(&r, &err), &err, "plain cannot be written");
    for (size_t n = 1; n <= 2; n++) {
        struct fail_alloc f;
        fail_alloc_init(&f, n, false);
        qr_replace_begin(&r, in_dir("plain"), 0600, 4, &f.hooks);
        qr_replace_commit(&r);
        assert_status(QUIRE_E_NOMEM, qr_replace_end(&r, &err));
        assert_int_equal(f.live_count, 0);
        qr_replace_remove_leftovers(in_dir("plain"), &f.hooks);
        assert_int_equal(f.live_count, 0);
    }
}

/* More bytes than the buffer, a relative path, a limit on the size of files, and folders with the
 * name of a temporary file. */
static void test_replace(void **state)
{
    (void)state;
    enum { BYTES = 9 << 20 };
    struct qr_replacement r;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct stat st;
    struct rlimit old_limit, limit;
    char old[4096];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("new.0123456789abcdef.tmp", 0700), 0);
    qr_replace_remove_leftovers("new", NULL);
    assert_int_equal(rmdir("new.0123456789abcdef.tmp"), 0); /* it is still there */
    static const char *const names[] = { "new.123-4.tmp", "new.123.tmp", "new.x-4.tmp",
                                         "new.123-4.tmq", "newer.123-4.tmp" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_bytes(names[i], "", 0);
    qr_replace_remove_leftovers("new", NULL); /* the first is one of an earlier release */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(access(names[i], F_OK) == 0, i > 0);
    qr_replace_begin(&r, "new", 0600, BYTES, NULL);
    qr_replace_put_zeros(&r, BYTES);
    qr_replace_commit(&r);
    assert_status(QUIRE_OK, qr_replace_end(&r, &err));
    assert_int_equal(stat("new", &st), 0);
    assert_int_equal(st.st_size, BYTES);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    limit = old_limit;
    limit.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    qr_replace_begin(&r, "new", 0600, 101, NULL);
    qr_replace_commit(&r);
    expect_message(QUIRE_E_IO, qr_replace_end(&r, &err), &err, "new cannot be written");
    qr_replace_begin(&r, "new", 0600, 100, NULL);
    qr_replace_put_zeros(&r, 100);
    qr_replace_commit(&r);
    assert_status(QUIRE_OK, qr_replace_end(&r, &err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    assert_int_equal(chdir(old), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_read_error),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_large_header),
        cmocka_unit_test(test_split_names),
        cmocka_unit_test(test_split_types),
        cmocka_unit_test(test_safetensors_header),
        cmocka_unit_test(test_index_names),
        cmocka_unit_test(test_index_limit),
        cmocka_unit_test(test_replace_errors),
        cmocka_unit_test(test_replace),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
