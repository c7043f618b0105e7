/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_split.c - split GGUF models: shards are found, checked and read; mismatches fail. */
#include "test_dir.h"
#include "test_gguf.h"

struct shard {
    uint32_t no, count, n_tensors; /* as written to the metadata */
    const char *tensor;            /* name; 4 floats, all equal to value */
    float value;
};

static void write_shard(const char *name, const struct shard *p)
{
    const uint64_t dims[1] = { 4 };
    struct image m;
    char path[256];
    put_head(&m, 3, 1, 3);
    put_kv_u32(&m, "split.no", p->no);
    put_kv_u32(&m, "split.count", p->count);
    put_kv_u32(&m, "split.tensors.count", p->n_tensors);
    put_tensor(&m, p->tensor, 0, 1, dims, 0);
    pad_to(&m, 32);
    for (int i = 0; i < 4; i++)
        put(&m, &p->value, sizeof p->value);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    drop(&m);
}

static quire_status open_shard(const char *name, struct qr_gguf **g, struct quire_error *err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return qr_gguf_open(path, NULL, NULL, g, err);
}

static void write_good(void)
{
    write_shard("m-00001-of-00003.gguf", &(struct shard){ 0, 3, 3, "a", 1 });
    write_shard("m-00002-of-00003.gguf", &(struct shard){ 1, 3, 3, "b", 2 });
    write_shard("m-00003-of-00003.gguf", &(struct shard){ 2, 3, 3, "c", 3 });
}

static void expect_failure(quire_status status, const char *text)
{
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status got = open_shard("m-00001-of-00003.gguf", &g, &err);
    if (got != status || !strstr(err.msg, text))
        print_error("got %s \"%s\", expected \"%s\"\n", quire_status_name(got), err.msg, text);
    assert_int_equal(got, status);
    assert_non_null(strstr(err.msg, text));
    assert_null(g);
}

static void test_good(void **state)
{
    (void)state;
    static const char *const names[] = { "m-00001-of-00003.gguf", "m-00003-of-00003.gguf" };
    write_good();
    for (int n = 0; n < 2; n++) { /* any shard opens the model */
        struct qr_gguf *g;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, open_shard(names[n], &g, &err));
        assert_int_equal(qr_gguf_tensor_count(g), 3);
        for (size_t i = 0; i < 3; i++) {
            float v[4];
            assert_int_equal(qr_gguf_tensor(g, i)->shard, i);
            assert_status(QUIRE_OK, qr_gguf_read_tensor(g, i, v, sizeof v, &err));
            assert_true(v[0] == (float)(i + 1) && v[3] == (float)(i + 1));
        }
        uint32_t no;
        assert_status(QUIRE_OK, qr_gguf_get_u32(g, "split.no", &no, &err));
        assert_int_equal(no, 0);
        qr_gguf_close(g);
    }
}

static void test_missing(void **state)
{
    (void)state;
    char path[256];
    write_good();
    snprintf(path, sizeof path, "%s/m-00002-of-00003.gguf", dir);
    unlink(path);
    expect_failure(QUIRE_E_IO, "m-00002-of-00003.gguf");
}

static void test_mismatches(void **state)
{
    (void)state;
    write_good();
    write_shard("m-00002-of-00003.gguf",
                &(struct shard){ 2, 3, 3, "b", 2 }); /* one shard under two names */
    expect_failure(QUIRE_E_FORMAT, "m-00002-of-00003.gguf: metadata says split.no 2");
    write_shard("m-00002-of-00003.gguf", &(struct shard){ 1, 4, 3, "b", 2 });
    expect_failure(QUIRE_E_FORMAT, "split.count 4");
    write_shard("m-00002-of-00003.gguf", &(struct shard){ 1, 3, 3, "a", 2 });
    expect_failure(QUIRE_E_FORMAT, "a appears twice");
    write_good();
    write_shard("m-00001-of-00003.gguf", &(struct shard){ 0, 3, 4, "a", 1 });
    expect_failure(QUIRE_E_FORMAT, "split.tensors.count is 4");
    write_shard("m-00001-of-00003.gguf", &(struct shard){ 1, 3, 3, "a", 1 });
    expect_failure(QUIRE_E_FORMAT, "split.no 1");
    write_shard("m-00001-of-00003.gguf", &(struct shard){ 0, UINT32_MAX, 3, "a", 1 });
    expect_failure(QUIRE_E_LIMIT, "split.count is 4294967295");
    write_shard("m-00001-of-00003.gguf", &(struct shard){ 0, 2, 3, "a", 1 });
    expect_failure(QUIRE_E_FORMAT, "file name must be");
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = { "plain.gguf", "m-0001-of-00003.gguf",
                                       "m-00000-of-00003.gguf", "m-00001-of-0000x.gguf",
                                       "m-00004-of-00003.gguf" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct qr_gguf *g;
        struct quire_error err = QUIRE_ERROR_INIT;
        write_shard(bad[i], &(struct shard){ 0, 3, 3, "a", 1 });
        assert_status(QUIRE_E_FORMAT, open_shard(bad[i], &g, &err));
        assert_non_null(strstr(err.msg, "file name must be"));
    }
}

static void test_memory_image(void **state)
{
    (void)state;
    struct image m;
    put_head(&m, 3, 0, 1);
    put_kv_u32(&m, "split.count", 2);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_UNSUPPORTED, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    drop(&m);
}

/* Fails every allocation of an open of three shards in turn: no crash, no leak. */
static void test_allocation_failures(void **state)
{
    (void)state;
    char path[256];
    write_good();
    snprintf(path, sizeof path, "%s/m-00002-of-00003.gguf", dir);
    for (int forever = 0; forever < 2; forever++)
        for (size_t n = 1;; n++) {
            struct fail_alloc f;
            struct qr_gguf *g;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, n, forever);
            const quire_status s = qr_gguf_open(path, &f.hooks, NULL, &g, &err);
            qr_gguf_close(g);
            assert_int_equal(f.live_count, 0);
            if (s == QUIRE_OK)
                break;
            assert_int_equal(s, QUIRE_E_NOMEM);
            assert_true(err.msg[0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_missing),
        cmocka_unit_test(test_mismatches),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory_image), cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
