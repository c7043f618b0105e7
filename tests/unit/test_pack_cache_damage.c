/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack_cache_damage.c - pack caches with damaged panels, files of killed writers, and a limit
 * on the size of files. */
#include "base/checksum.h"
#include "linear/packed.h"
#include "model/load/pack_cache.h"
#include "model/load/pack_cache_write.h"
#include "test_pack_cache.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *model(void) { return golden("gguf/llama-q8_0.gguf"); }

/* Every bit of a short text, and bytes at every place of a long one, change the checksum; so do two
 * flips of the same bit in words of one lane. */
static void checksum(void **state)
{
    (void)state;
    enum { N = 4096 + 13 };
    uint8_t data[N];
    for (int i = 0; i < N; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t n = 0; n < 200; n++) {
        const uint64_t good = qr_checksum(data, n);
        assert_true(good != qr_checksum(data, n + 1));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_true(qr_checksum(data, n) != good);
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    const uint64_t good = qr_checksum(data, N);
    for (size_t i = 0; i + 64 < N; i++) {
        data[i] ^= 0x80;
        assert_true(qr_checksum(data, N) != good);
        data[i + 64] ^= 0x80;
        assert_true(qr_checksum(data, N) != good);
        data[i] ^= 0x80;
        data[i + 64] ^= 0x80;
    }
    assert_true(qr_checksum(data, N) == good);
}

/* One changed bit of a panel or of the checksums: rejected with the name, and written again. */
static void panels(void **state)
{
    (void)state;
    static uint8_t good[MAX_FILE], bad[MAX_FILE];
    char what[64];
    if (!need_shared())
        skip();
    empty_dir();
    assert_false(opens_cached(model(), in_dir("cache")));
    const size_t n = read_all(in_dir("cache"), good);
    struct qr_pack_cache_header h;
    struct qr_pack_cache_entry e;
    memcpy(&h, good, sizeof h);
    const size_t sums = sizeof h + h.n_matrices * sizeof e;
    for (uint64_t i = 0; i < h.n_matrices; i++) {
        memcpy(&e, good + sizeof h + i * sizeof e, sizeof e);
        const size_t places[] = { e.offset, e.offset + e.bytes / 2, e.offset + e.bytes - 1,
                                  sums + i * 8 + i % 8 };
        for (size_t k = 0; k < 4; k++) {
            memcpy(bad, good, n);
            bad[places[k]] ^= (uint8_t)(1 << (i + k) % 8);
            write_all(in_dir("cache"), bad, n);
            snprintf(what, sizeof what, "byte %zu", places[k]);
            rejected(model(), good, n, what);
            assert_non_null(strstr(last_log.text, "checksum"));
        }
    }
    assert_true(opens_cached(model(), in_dir("cache")));
}

static void touch(const char *name) { write_all(in_dir(name), "x", 1); }

/* Files of writers that were killed are removed, whatever their number and process; a file that a
 * living writer has locked, and other files, stay. */
static void leftovers(void **state)
{
    (void)state;
    char name[64];
    if (!need_shared())
        skip();
    empty_dir();
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "cache.%d-%d.tmp", (int)getpid(), i);
        touch(name);
        snprintf(name, sizeof name, "cache.%016x.tmp", i);
        touch(name);
    }
    static const char *const others[] = { "cache.tmp", "cache.1.tmp", "cache.a-1.tmp",
                                          "cache.0123456789abcdef.tmp2", "other.1-2.tmp" };
    for (size_t i = 0; i < 5; i++)
        touch(others[i]);
    touch("cache.ffffffffffffffff.tmp");
    const int fd = open(in_dir("cache.ffffffffffffffff.tmp"), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_false(opens_cached(model(), in_dir("cache")));
    assert_int_equal(last_log.warnings, 0);
    assert_int_equal(n_files(), 5 + 1 + 1);
    close(fd);
    assert_true(opens_cached(model(), in_dir("cache"))); /* also without a write */
    assert_int_equal(n_files(), 5 + 1);
}

/* Under a limit on the size of files nothing is written, no signal is sent, and the model opens. */
static void size_limit(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    empty_dir();
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = { 4096, 4096 };
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        const bool cached = opens_cached(model(), in_dir("cache"));
        _exit(!cached && last_log.warnings == 1 && strstr(last_log.text, "File too large") &&
                      n_files() == 0
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A write that fails in the middle of the file, as on a full disk: an error, and no file. */
static void failed_write(void **state)
{
    (void)state;
    enum { N = 3, BYTES = 8 << 20 }; /* as many as one write() */
    struct {
        struct qr_pack_cache_header h;
        struct qr_pack_cache_entry e[N];
    } expected = { .h = { .n_matrices = N, .file_bytes = 8192 /* not those of the matrices */ } };
    struct qr_packed panels = { .data = calloc(1, BYTES), .bytes = BYTES };
    struct qr_pack_item items[N];
    struct rlimit before;
    for (uint64_t i = 0; i < N; i++) {
        items[i] = (struct qr_pack_item){ .target = &panels };
        expected.e[i] = (struct qr_pack_cache_entry){ .offset = 4096 + i * BYTES, .bytes = BYTES };
    }
    const struct qr_pack_cache c = { .path = in_dir("cache"),
                                     .expected = (uint8_t *)&expected,
                                     .expected_bytes = sizeof expected };
    empty_dir();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2; i++) { /* the first write fails, or a later one */
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct rlimit limit = { i ? BYTES + 8192 : 8192, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const quire_status s = qr_pack_cache_write(&c, items, N, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(s, QUIRE_E_IO);
        assert_non_null(strstr(err.msg, "File too large"));
        assert_int_equal(n_files(), 0);
    }
    signal(SIGXFSZ, handler);
    free(panels.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum),   cmocka_unit_test(panels),       cmocka_unit_test(leftovers),
        cmocka_unit_test(size_limit), cmocka_unit_test(failed_write),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
