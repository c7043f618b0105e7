/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_torture.c - GGUF reader: truncation, bit flips, failed allocations, size. */
#include "base/alloc.h"
#include "format/gguf_parse.h"
#include "format/gguf_scan.h"
#include "format/gguf_tensors.h"
#include "format/gguf_value.h"
#include "test_gguf.h"
#include <dirent.h>
#include <time.h>

/* A small file with every kind of entry. */
static void put_model(struct image *m)
{
    const uint64_t dims[3] = { 32, 2, 1 };
    put_head(m, 3, 3, 5);
    put_kv_str(m, "general.architecture", "llama");
    put_kv_u32(m, "general.alignment", 32);
    put_key(m, "flag", QR_GGUF_BOOL);
    put_u8(m, 1);
    put_kv_array(m, "words", QR_GGUF_STRING, 3);
    put_str(m, "alpha");
    put_str(m, "");
    put_str(m, "gamma");
    put_kv_array(m, "numbers", QR_GGUF_F32, 4);
    for (uint32_t i = 0; i < 4; i++)
        put_u32(m, i);
    put_tensor(m, "token_embd.weight", 0, 2, dims, 0);
    put_tensor(m, "blk.0.attn_q.weight", 8, 2, dims, 256);
    put_tensor(m, "output_norm.weight", 30, 3, dims, 352);
    pad_to(m, 32);
    for (int i = 0; i < 352 + 128; i++)
        put_u8(m, (uint8_t)i);
}

/* Reads everything through the accessors. */
static void touch(const struct qr_gguf *g)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    char key[512];
    for (size_t i = 0; i < qr_gguf_key_count(g); i++) {
        const struct qr_gguf_str k = qr_gguf_key(g, i);
        struct qr_gguf_str s;
        struct qr_gguf_array arr;
        uint64_t u;
        float f;
        bool b;
        snprintf(key, sizeof key, "%.*s", (int)(k.size < 500 ? k.size : 500), k.data);
        (void)qr_gguf_get_u64(g, key, &u, &err);
        (void)qr_gguf_get_f32(g, key, &f, &err);
        (void)qr_gguf_get_bool(g, key, &b, &err);
        (void)qr_gguf_get_str(g, key, &s, &err);
        if (qr_gguf_get_array(g, key, &arr, &err) != QUIRE_OK)
            continue;
        for (size_t e = 0; e < arr.count; e++) {
            int64_t v;
            if (qr_gguf_array_str(&arr, e, &s) && s.size)
                *(volatile char *)key = s.data[s.size - 1];
            (void)qr_gguf_array_i64(&arr, e, &v);
            (void)qr_gguf_array_f32(&arr, e, &f);
            (void)qr_gguf_array_bool(&arr, e, &b);
        }
    }
    for (size_t i = 0; i < qr_gguf_tensor_count(g); i++) {
        const struct qr_gguf_tensor *t = qr_gguf_tensor(g, i);
        size_t found;
        assert_true(qr_gguf_find_tensor(g, t->name, &found) && found == i);
        uint8_t *data = malloc(t->bytes);
        assert_status(QUIRE_OK, qr_gguf_read_tensor(g, i, data, t->bytes, &err));
        free(data);
    }
}

static quire_status open_copy(const struct image *m, size_t size)
{
    uint8_t *copy =
        malloc(size ? size : 1); /* exact, so that a sanitizer detects reads past its end */
    memcpy(copy, m->data, size);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = qr_gguf_open_memory(copy, size, NULL, NULL, &g, &err);
    if (s == QUIRE_OK)
        touch(g);
    else
        assert_true(err.msg[0] != 0 && err.code == s);
    qr_gguf_close(g);
    free(copy);
    return s;
}

static void test_every_truncation(void **state)
{
    (void)state;
    struct image m;
    put_model(&m);
    const size_t whole = m.size;
    assert_status(QUIRE_OK, open_copy(&m, whole));
    for (size_t n = 0; n < whole; n++) {
        const quire_status s = open_copy(&m, n);
        /* _LIMIT: a count that no longer fits in the file */
        assert_true(s == QUIRE_E_FORMAT || s == QUIRE_E_LIMIT);
    }
    drop(&m);
}

static void test_every_bit_flip(void **state)
{
    (void)state;
    struct image m;
    put_model(&m);
    for (size_t i = 0; i < m.size * 8; i++) {
        m.data[i / 8] ^= (uint8_t)(1u << (i % 8));
        (void)open_copy(&m, m.size);
        m.data[i / 8] ^= (uint8_t)(1u << (i % 8));
    }
    /* runs of four or eight bytes set to extremes */
    static const uint8_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff };
    for (size_t i = 0; i + 8 < m.size; i++)
        for (size_t e = 0; e < sizeof extremes; e++) {
            uint8_t kept[8];
            memcpy(kept, m.data + i, sizeof kept);
            memset(m.data + i, extremes[e], e % 2 ? 8 : 4);
            (void)open_copy(&m, m.size);
            memcpy(m.data + i, kept, sizeof kept);
        }
    drop(&m);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    struct image m;
    put_model(&m);
    char *path = to_file(&m);
    for (int mode = 0; mode < 4; mode++)
        for (size_t n = 1;; n++) {
            struct fail_alloc f;
            struct qr_gguf *g;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, n, mode & 1);
            const quire_status s =
                mode & 2 ? qr_gguf_open(path, &f.hooks, NULL, &g, &err)
                         : qr_gguf_open_memory(m.data, m.size, &f.hooks, NULL, &g, &err);
            qr_gguf_close(g);
            assert_int_equal(f.live_count, 0);
            if (s == QUIRE_OK)
                break;
            assert_int_equal(s, QUIRE_E_NOMEM);
        }
    unlink(path);
    free(path);
    drop(&m);
}

static size_t peak, live;

static void *counting_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    live += size;
    peak = live > peak ? live : peak;
    return aligned_alloc(align < 16 ? 16 : align, (size + align - 1) & ~(align - 1));
}

static void counting_free(void *user, void *p, size_t size)
{
    (void)user;
    live -= size;
    free(p);
}

/* Checks the documented bound: heap <= 16 MiB + 4 x header. The time is printed; quadratic behavior
 * would exceed the time limit of the test. */
static void expect_bounds(struct image *m)
{
    const struct quire_allocator counting = { NULL, counting_alloc, counting_free };
    char *path = to_file(m);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct timespec begin, end;
    peak = live = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    assert_status(QUIRE_OK, qr_gguf_open(path, &counting, NULL, &g, &err));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    qr_gguf_close(g);
    const double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%zu bytes: %.2f s, %.2f bytes of heap per byte\n", m->size, seconds,
           (double)peak / (double)m->size);
    assert_true(peak <= ((size_t)16 << 20) + 4 * m->size);
    assert_int_equal(live, 0);
    unlink(path);
    free(path);
    drop(m);
}

static void test_a_million_entries(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct image m;
    char name[16];
    put_head(&m, 3, 0, N);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%x", i);
        put_key(&m, name, QR_GGUF_U8);
        put_u8(&m, 0);
    }
    expect_bounds(&m);
    put_head(&m, 3, 0, 1);
    put_kv_array(&m, "tokens", QR_GGUF_STRING, N);
    for (uint32_t i = 0; i < N; i++)
        put_u64(&m, 0);
    expect_bounds(&m);
    const uint64_t dims[1] = { 8 };
    put_head(&m, 3, N / 4, 0);
    for (uint32_t i = 0; i < N / 4; i++) {
        snprintf(name, sizeof name, "%x", i);
        put_tensor(&m, name, 0, 1, dims, 32ull * i);
    }
    pad_to(&m, 32);
    const size_t header = m.size;
    m.data = realloc(m.data, header + 8 * N);
    m.cap = m.size = header + 8 * N;
    memset(m.data + header, 0, 8 * N);
    expect_bounds(&m);
}

/* Every file of the reference data opens, also those of unsupported families. */
static void test_real_files(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char path[4096 + 300];
    snprintf(path, sizeof path, "%s/goldens/gguf", shared_dir());
    DIR *d = opendir(path);
    if (!d) {
        printf("skipped: no %s\n", path);
        skip();
    }
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        const size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 5, ".gguf") != 0)
            continue;
        struct qr_gguf *g;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_gguf_str arch;
        snprintf(path, sizeof path, "%s/goldens/gguf/%s", shared_dir(), e->d_name);
        const quire_status s = qr_gguf_open(path, NULL, NULL, &g, &err);
        if (s != QUIRE_OK)
            print_error("%s: %s\n", e->d_name, err.msg);
        assert_int_equal(s, QUIRE_OK);
        assert_int_equal(qr_gguf_trailing_bytes(g), 0);
        assert_status(QUIRE_OK, qr_gguf_get_str(g, "general.architecture", &arch, &err));
        touch(g);
        qr_gguf_close(g);
        n++;
    }
    closedir(d);
    assert_true(n > 0);
}

/* A file that another process changes between the two passes over its header: the second pass
 * stays inside what the first one found. Returns the status of the second pass. */
static quire_status parse_changed(const struct image *m, const struct qr_gguf_counts *counts,
                                  struct quire_error *err)
{
    struct fail_alloc f;
    struct qr_gguf_meta meta;
    size_t tensors_at;
    fail_alloc_init(&f, 0, false);
    struct qr_gguf *g = qr_calloc(&f.hooks, 1, sizeof *g);
    assert_non_null(g);
    g->allocator = &f.hooks;
    g->shards = qr_calloc(&f.hooks, 1, sizeof *g->shards);
    g->n_shards = g->shard_cap = 1;
    qr_file_from_memory(&g->shards[0].file, m->data, m->size);
    quire_status s =
        qr_gguf_parse_meta(&g->shards[0].file, counts, &f.hooks, &meta, &tensors_at, err);
    if (s == QUIRE_OK) {
        s = qr_gguf_parse_tensors(g, &meta, counts, tensors_at, err);
        qr_gguf_meta_free(&meta, &f.hooks);
    }
    qr_gguf_close(g);
    assert_int_equal(f.live_count, 0);
    return s;
}

static void test_changes_between_passes(void **state)
{
    (void)state;
    static const uint8_t masks[] = { 0x01, 0x02, 0x04, 0x08, 0x80, 0xff };
    struct image m;
    struct qr_file f;
    struct qr_gguf_counts counts;
    struct quire_error err = QUIRE_ERROR_INIT;
    int n_changed = 0;
    put_model(&m);
    qr_file_from_memory(&f, m.data, m.size);
    assert_status(QUIRE_OK, qr_gguf_scan(&f, &counts, &err));
    assert_status(QUIRE_OK, parse_changed(&m, &counts, &err));
    for (size_t at = 24; at < counts.header_bytes; at++)
        for (size_t k = 0; k < sizeof masks; k++) {
            err.msg[0] = 0;
            m.data[at] ^= masks[k];
            const quire_status s = parse_changed(&m, &counts, &err);
            m.data[at] ^= masks[k];
            if (s == QUIRE_E_IO) {
                assert_non_null(strstr(err.msg, "the file changed while it was read"));
                n_changed++;
            } else if (s != QUIRE_OK) {
                assert_true(s == QUIRE_E_FORMAT || s == QUIRE_E_UNSUPPORTED);
                assert_true(strlen(err.msg) > 0);
            }
        }
    assert_true(n_changed > 100);
    drop(&m);
}

/* The same for small files: every byte gets every value, so each field in turn is the one that no
 * longer fits into what the first pass found. */
static void check_small(const struct image *m)
{
    struct qr_file f;
    struct qr_gguf_counts counts;
    struct quire_error err = QUIRE_ERROR_INIT;
    qr_file_from_memory(&f, m->data, m->size);
    assert_status(QUIRE_OK, qr_gguf_scan(&f, &counts, &err));
    for (size_t at = 24; at < counts.header_bytes; at++)
        for (unsigned mask = 1; mask < 256; mask++) {
            err.msg[0] = 0;
            m->data[at] ^= (uint8_t)mask;
            const quire_status s = parse_changed(m, &counts, &err);
            m->data[at] ^= (uint8_t)mask;
            if (s != QUIRE_OK && s != QUIRE_E_FORMAT && s != QUIRE_E_UNSUPPORTED)
                assert_int_equal(s, QUIRE_E_IO);
            assert_true(s == QUIRE_OK || err.msg[0]);
        }
}

static void test_small_changes(void **state)
{
    (void)state;
    static const uint32_t types[] = { QR_GGUF_U8, QR_GGUF_BOOL, QR_GGUF_U32, QR_GGUF_U64 };
    const uint64_t zero = 0, dims[4] = { 8, 8, 1, 1 };
    struct image m;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint32_t n_dims = 0; n_dims <= 4; n_dims++) {
            put_head(&m, 3, n_dims != 0, 1);
            put_key(&m, "key", types[i]);
            put(&m, &zero, qr_gguf_value_bytes(types[i]));
            if (n_dims)
                put_tensor(&m, "a tensor with a long name", 0, n_dims, dims, 0);
            pad_to(&m, 32);
            for (size_t k = 0; k < 64; k++)
                put_u32(&m, 0);
            check_small(&m);
            drop(&m);
        }
    /* a longer string ends at dims[0], which with the numbers after it is a tensor info too: 8
     * letters, 3 dimensions, and the end of the header in place of the type */
    const uint64_t nested[4] = { 8, 0x6867666564636261, 3, 1 };
    put_head(&m, 3, 1, 1);
    put_kv_str(&m, "key", "");
    put_tensor(&m, "a tensor with a long name", 0, 4, nested, 0);
    pad_to(&m, 32);
    check_small(&m);
    drop(&m);
    /* the same with a name that leaves two bytes of the header, and with one that needs more */
    for (uint64_t length = 34; length <= 40; length += 6) {
        const uint64_t spaces = 0x2020202020202020;
        const uint64_t named[4] = { length, spaces, spaces, spaces };
        put_head(&m, 3, 1, 1);
        put_kv_str(&m, "key", "");
        put_tensor(&m, "a tensor with a name that is longer than the one inside", 0x20202020, 4,
                   named, spaces);
        pad_to(&m, 32);
        check_small(&m);
        drop(&m);
    }
    put_head(&m, 3, 0, 2);
    put_kv_array(&m, "list", QR_GGUF_STRING, 1);
    put_str(&m, "abc");
    put_kv_str(&m, "k", "");
    check_small(&m);
    drop(&m);
}

/* A file that is cut between the two passes. */
static void test_cut_between_passes(void **state)
{
    (void)state;
    struct image m;
    struct qr_file f;
    struct qr_gguf_counts counts;
    struct qr_gguf_meta meta = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t tensors_at;
    put_model(&m);
    char *path = to_file(&m);
    assert_status(QUIRE_OK, qr_file_open(&f, path, &err));
    assert_status(QUIRE_OK, qr_gguf_scan(&f, &counts, &err));
    assert_int_equal(truncate(path, 100), 0);
    assert_status(QUIRE_E_IO, qr_gguf_parse_meta(&f, &counts, NULL, &meta, &tensors_at, &err));
    assert_non_null(strstr(err.msg, "ends at byte 100"));
    qr_file_close(&f);
    unlink(path);
    free(path);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_truncation),    cmocka_unit_test(test_every_bit_flip),
        cmocka_unit_test(test_allocation_failures), cmocka_unit_test(test_a_million_entries),
        cmocka_unit_test(test_real_files),          cmocka_unit_test(test_changes_between_passes),
        cmocka_unit_test(test_small_changes),       cmocka_unit_test(test_cut_between_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
