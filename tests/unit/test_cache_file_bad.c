/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_file_bad.c - saved prefix caches: bad arguments, damaged and foreign files, failing
 * file systems and allocations, writers that die. The cache and the old file stay as they were. */
#include "test_cache_file.h"
#include <fcntl.h>
#include <quire/cpu.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint8_t good[MAX_CACHE_FILE], bad[MAX_CACHE_FILE];

/* Saves a small cache to "cache", reads it into good[] and returns its size. */
static size_t make_good(void)
{
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    int32_t tokens[PROMPT];
    struct quire_request_params p = prompt(1, tokens);
    struct result r;
    p.n_tokens = 20;
    p.max_tokens = 1;
    generate(e, &p, &r);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    return read_all(in_dir("cache"), good);
}

static quire_status try_save(struct quire_engine *e, const char *path, char *message)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_cache_file_params p = cache_file(path);
    const quire_status s = quire_engine_save_cache(e, &p, NULL, &err);
    assert_true(s == QUIRE_OK || err.msg[0]);
    if (message)
        memcpy(message, err.msg, sizeof err.msg);
    return s;
}

static void assert_good(size_t n)
{
    assert_int_equal(read_all(in_dir("cache"), bad), n);
    assert_memory_equal(good, bad, n);
}

static void arguments(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_error err = QUIRE_ERROR_INIT;
    const int32_t token = 40;
    (void)make_good();
    assert_status(QUIRE_E_RANGE, try_save(e, in_dir("cache"), NULL)); /* nothing is cached */
    answer(e, 1, 0, NULL);
    for (int restore = 0; restore < 2; restore++) {
        quire_status (*const call)(struct quire_engine *, const struct quire_cache_file_params *,
                                   struct quire_cache_file_result *, struct quire_error *) =
            restore ? quire_engine_restore_cache : quire_engine_save_cache;
        struct quire_cache_file_params p = cache_file(in_dir("cache"));
        struct quire_cache_file_result r = { .struct_size = 4 };
        assert_status(QUIRE_E_INVALID_ARG, call(NULL, &p, NULL, &err));
        assert_status(QUIRE_E_INVALID_ARG, call(e, NULL, NULL, &err));
        assert_status(QUIRE_E_MISUSE, call(e, &p, &r, &err));
        assert_non_null(strstr(err.msg, "result.struct_size"));
        p.struct_size = 8;
        assert_status(QUIRE_E_MISUSE, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.struct_size"));
        p = cache_file(NULL);
        assert_status(QUIRE_E_INVALID_ARG, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.path is NULL"));
        p.path = "";
        assert_status(QUIRE_E_INVALID_ARG, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.path is empty"));
        p.path = in_dir("cache");
        p.n_tokens = 1;
        assert_status(QUIRE_E_INVALID_ARG, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.n_tokens is given without"));
        p.tokens = &token;
        p.n_tokens = 0;
        assert_status(QUIRE_E_INVALID_ARG, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.tokens is given without"));
        p = cache_file(in_dir("cache"));
        p.max_bytes = 100;
        assert_status(QUIRE_E_LIMIT, call(e, &p, NULL, &err));
        assert_non_null(strstr(err.msg, "params.max_bytes"));
    }
    struct quire_cache_file_params p = cache_file(in_dir("cache"));
    p.tokens = &token;
    p.n_tokens = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_restore_cache(e, &p, NULL, &err));
    assert_non_null(strstr(err.msg, "params.tokens"));
    quire_engine_close(e);
    ep.flags = QUIRE_ENGINE_DRY_RUN;
    e = open_with(&ep);
    assert_status(QUIRE_E_MISUSE, try_save(e, in_dir("cache"), NULL));
    assert_status(QUIRE_E_MISUSE, try_restore(e, in_dir("cache"), NULL));
    quire_engine_close(e);
}

/* Every changed byte and every shorter or longer file is refused, and leaves no block behind. */
static void damage(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    const size_t n = make_good();
    struct quire_engine *e = open_with(&ep);
    const char *path = in_dir("bad");
    for (size_t i = 0; i < n; i++) {
        memcpy(bad, good, n);
        bad[i] ^= (uint8_t)(1 << i % 8);
        write_all(path, bad, n);
        path = in_dir("bad");
        const quire_status s = try_restore(e, path, NULL);
        assert_status(i < 8 ? QUIRE_E_FORMAT : i < 12 ? QUIRE_E_MISMATCH : QUIRE_E_CORRUPT, s);
        assert_int_equal(used_blocks(e), 0);
    }
    for (size_t size = 0; size < n; size++) {
        write_all(path, good, size);
        path = in_dir("bad");
        assert_status(size < 8 ? QUIRE_E_FORMAT : QUIRE_E_CORRUPT, try_restore(e, path, NULL));
        assert_int_equal(used_blocks(e), 0);
    }
    memcpy(bad, good, n + 1);
    write_all(path, bad, n + 1);
    assert_status(QUIRE_E_CORRUPT, try_restore(e, in_dir("bad"), NULL));
    struct result cold, warm;
    answer(e, 1, 0, &cold);
    quire_engine_close(e);
    e = open_with(&ep);
    restore_cache(e, in_dir("cache"));
    assert_int_equal(answer(e, 1, 0, &warm), 20);
    assert_same(&cold, &warm);
    quire_engine_close(e);
}

static void expect_mismatch(const struct quire_engine_params *ep, const char *what)
{
    char message[488];
    struct quire_engine *e = open_with(ep);
    assert_status(QUIRE_E_MISMATCH, try_restore(e, in_dir("cache"), message));
    if (!strstr(message, what))
        fail_msg("%s is not in: %s", what, message);
    assert_int_equal(used_blocks(e), 0);
    answer(e, 1, 0, NULL);
    quire_engine_close(e);
}

/* Files of engines whose bits differ: the message has the first difference. */
static void foreign(void **state)
{
    (void)state;
    (void)make_good();
    struct quire_engine_params ep = tiny_params();
    ep.k_dtype = QUIRE_KV_BF16;
    expect_mismatch(&ep, "bf16");
    ep = tiny_params();
    ep.v_dtype = QUIRE_KV_INT8;
    expect_mismatch(&ep, "int8");
    ep = tiny_params();
    ep.compute = QUIRE_COMPUTE_F32;
    expect_mismatch(&ep, "compute mode: f32");
    if (quire_cpu_level_usable(1)) { /* otherwise the file is of the generic level itself */
        ep = tiny_params();
        ep.isa = "generic";
        expect_mismatch(&ep, "ISA level: generic");
    }
    /* other sizes of the model, with the same embeddings */
    struct tiny_shape shape = tiny_running;
    struct fuzz_buffer model = { 0 };
    shape.ffn *= 2;
    tiny_model(&shape, &model);
    ep = tiny_params();
    ep.model_data = model.data;
    ep.model_bytes = model.size;
    expect_mismatch(&ep, "weights:");
    fuzz_buffer_free(&model);
    shape = tiny_running;
    shape.layers = 1;
    tiny_model(&shape, &model);
    ep.model_data = model.data;
    ep.model_bytes = model.size;
    expect_mismatch(&ep, "model: llama");
    fuzz_buffer_free(&model);
}

/* Other weights at the end of the last tensor: the fingerprint of the embeddings is the same. */
static void other_weights(void **state)
{
    (void)state;
    (void)make_good();
    struct quire_engine_params ep = tiny_params();
    uint8_t *copy = malloc(ep.model_bytes);
    assert_non_null(copy);
    memcpy(copy, ep.model_data, ep.model_bytes);
    for (size_t i = 1; i <= 64; i++)
        copy[ep.model_bytes - i] = 0;
    ep.model_data = copy;
    expect_mismatch(&ep, "weights:");
    free(copy);
}

/* Files of other kinds are not overwritten, and the old file survives failures. */
static void unwritable(void **state)
{
    (void)state;
    char message[488];
    const size_t n = make_good();
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 2, 0, NULL);
    write_all(in_dir("notes"), "my own notes", 12);
    assert_status(QUIRE_E_FORMAT, try_save(e, in_dir("notes"), message));
    assert_non_null(strstr(message, "not overwritten"));
    assert_int_equal(read_all(in_dir("notes"), bad), 12);
    assert_status(QUIRE_E_FORMAT, try_restore(e, in_dir("notes"), NULL));
    assert_status(QUIRE_E_IO, try_save(e, dir, NULL));
    assert_status(QUIRE_E_IO, try_restore(e, dir, NULL));
    assert_status(QUIRE_E_IO, try_save(e, in_dir("none/cache"), message));
    assert_non_null(strstr(message, "No such file"));
    assert_status(QUIRE_E_IO, try_restore(e, in_dir("none"), NULL));
    assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
    assert_status(QUIRE_E_IO, try_save(e, in_dir("fifo"), NULL));
    assert_status(QUIRE_E_IO, try_restore(e, in_dir("fifo"), NULL));
    assert_int_equal(mkdir(in_dir("locked"), 0700), 0);
    write_all(in_dir("locked/cache"), good, n);
    assert_int_equal(chmod(in_dir("locked"), 0500), 0);
    if (geteuid() != 0)
        assert_status(QUIRE_E_IO, try_save(e, in_dir("locked/cache"), NULL));
    assert_int_equal(chmod(in_dir("locked"), 0700), 0);
    /* empty files are replaced */
    write_all(in_dir("empty"), "", 0);
    save_cache(e, in_dir("empty"));
    assert_good(n);
    quire_engine_close(e);
}

/* A limit on the size of files: no signal, no temporary file, and the old file is intact. */
static void size_limit(void **state)
{
    (void)state;
    const size_t n = make_good();
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 1, 0, NULL);
    const int files = n_files();
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = { 4096, 4096 };
        char message[488];
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        const quire_status s = try_save(e, in_dir("cache"), message);
        _exit(s == QUIRE_E_IO && strstr(message, "File too large") && n_files() == files ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_good(n);
    quire_engine_close(e);
}

/* Writers are killed at any moment: the file is always whole, and their temporary files are removed
 * by the next one. The temporary file of a writer that lives stays. */
static void killed(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep), *reader = open_with(&ep);
    answer(e, 1, 0, NULL);
    save_cache(e, in_dir("kill"));
    const int files = n_files();
    for (int i = 0; i < 20; i++) {
        const pid_t pid = fork();
        if (pid == 0)
            for (;;)
                (void)try_save(e, in_dir("kill"), NULL);
        usleep((useconds_t)(500 + 700 * i));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        restore_cache(reader, in_dir("kill"));
    }
    write_all(in_dir("kill.0123456789abcdef.tmp"), "x", 1);
    write_all(in_dir("kill.fedcba9876543210.tmp"), "x", 1);
    const int fd = open(in_dir("kill.fedcba9876543210.tmp"), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    save_cache(e, in_dir("kill"));
    assert_int_equal(n_files(), files + 1);
    close(fd);
    save_cache(e, in_dir("kill"));
    assert_int_equal(n_files(), files);
    quire_engine_close(e);
    quire_engine_close(reader);
}

/* Every allocation of both calls fails, once and for ever. */
static void allocations(void **state)
{
    (void)state;
    const size_t n = make_good();
    struct quire_engine_params ep = tiny_params();
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    ep.allocator = &f.hooks;
    struct quire_engine *e = open_with(&ep);
    answer(e, 2, 0, NULL);
    const size_t used = used_blocks(e), live = f.live_count;
    for (int restore = 0; restore < 2; restore++)
        for (int forever = 0; forever < 2; forever++) {
            size_t failures = 0, at = 0;
            do {
                f.calls = 0;
                f.fail_at = ++at;
                f.forever = forever;
                const quire_status s = restore ? try_restore(e, in_dir("cache"), NULL)
                                               : try_save(e, in_dir("other"), NULL);
                f.fail_at = 0;
                assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
                assert_int_equal(f.live_count, live);
                if (s != QUIRE_OK)
                    assert_int_equal(used_blocks(e), used);
                failures += s != QUIRE_OK;
            } while (f.calls >= at);
            /* only the search for temporary files of dead writers goes on without memory */
            assert_int_equal(failures, at - 1 - (!restore && !forever));
            assert_true(failures > 8);
            if (restore) { /* starts again without the restored blocks */
                quire_engine_close(e);
                assert_int_equal(f.live_count, 0);
                e = open_with(&ep);
                answer(e, 2, 0, NULL);
                assert_int_equal(f.live_count, live);
            }
        }
    assert_good(n);
    quire_engine_close(e);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),  cmocka_unit_test(damage),
        cmocka_unit_test(foreign),    cmocka_unit_test(other_weights),
        cmocka_unit_test(unwritable), cmocka_unit_test(size_limit),
        cmocka_unit_test(killed),     cmocka_unit_test(allocations),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
