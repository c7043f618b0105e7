/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c - limits and habits of the host: misaligned memory, no threads, few descriptors,
 * interrupted calls, a closed pipe, another locale, more cache than memory. */
#include "../scenarios/scenarios.h"
#include "base/memory.h"
#include "engine_requests.h"
#include "test_dir.h"
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

/* ---- memory */

/* Blocks begin 4 bytes after an aligned address. */
static void *misaligned_alloc(void *user, size_t size, size_t align)
{
    char *p = fail_alloc_get(user, size + align + 4, align);
    return p ? p + 4 : NULL;
}

static void misaligned_free(void *user, void *p, size_t size)
{
    fail_alloc_put(user, (char *)p - 4, size);
}

static void misaligned_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fail_alloc f;
    for (size_t i = 0; i < n_scenarios; i++) {
        fail_alloc_init(&f, 0, false);
        f.hooks.alloc = misaligned_alloc;
        f.hooks.free = misaligned_free;
        struct run run = { .allocator = &f.hooks, .shared = shared_dir(), .dir = dir };
        const quire_status s = scenarios[i].run(&run);
        if (strcmp(scenarios[i].name, "bias") != 0 && s != QUIRE_E_NOMEM)
            fail_msg("%s: %s", scenarios[i].name, quire_status_name(s));
        assert_int_equal(f.live_count, 0);
    }
}

static void cache_above_the_memory(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    char mib[32];
    const uint64_t available = qr_memory_available();
    assert_true(available > 0);
    struct quire_kv_group_config group = { .n_layers = 1,
                                           .n_kv_heads = 1,
                                           .head_size = 1024,
                                           .k_dtype = QUIRE_KV_F32,
                                           .v_dtype = QUIRE_KV_F32 };
    group.n_blocks = (uint32_t)(available / (16 * 1024 * 8) * 2 + 1); /* twice the free memory */
    struct quire_kv_params p = { .struct_size = sizeof p,
                                 .block_size = 16,
                                 .groups = &group,
                                 .n_groups = 1,
                                 .flags = QUIRE_KV_TOUCH };
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    assert_status(QUIRE_OK, quire_kv_bytes(&p, &memory, &err));
    struct quire_kv_cache *kv;
    for (int lock = 0; lock < 2; lock++) {
        p.flags = lock ? QUIRE_KV_LOCK : QUIRE_KV_TOUCH;
        assert_status(QUIRE_E_NOMEM, quire_kv_create(&p, &kv, &err));
        assert_null(kv);
        snprintf(mib, sizeof mib, "%llu MiB", (unsigned long long)(memory.pool >> 20));
        assert_non_null(strstr(err.msg, mib));
    }
    if (!need_shared())
        return;
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    struct quire_engine *e;
    ep.kv_bytes = UINT64_MAX;
    ep.context_length = INT32_MAX; /* 2 TiB */
    assert_status(QUIRE_E_LIMIT, quire_engine_open(&ep, &e, &err));
    assert_null(e);
    assert_non_null(strstr(err.msg, "2147483647 tokens takes"));
    assert_non_null(strstr(err.msg, "MiB of memory are free"));
    ep.flags = QUIRE_ENGINE_DRY_RUN; /* computes sizes only */
    ep.context_length = 256;
    assert_status(QUIRE_OK, quire_engine_open(&ep, &e, &err));
    quire_engine_close(e);
}

/* ---- threads */

static uint32_t threads_left = UINT32_MAX;

/* Replaces that of the C library for the library's static archive. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg)
{
    if (threads_left == 0)
        return EAGAIN;
    threads_left--;
    return __real_pthread_create(thread, attr, start, arg);
}

static void count_member(void *arg, const struct quire_team *team)
{
    quire_team_barrier(team);
    __atomic_fetch_add((uint32_t *)arg, 1, __ATOMIC_RELAXED);
}

static void threads_that_cannot_be_created(void **state)
{
    (void)state;
    for (uint32_t left = 0; left < 4; left++) {
        const struct quire_threads_params p = { sizeof p, QUIRE_THREADS_PTHREAD, 4, NULL };
        struct quire_threads *threads;
        threads_left = left;
        const quire_status s = quire_threads_create(&p, &threads, NULL);
        threads_left = UINT32_MAX;
        assert_int_equal(s, QUIRE_OK);
        assert_int_equal(quire_threads_count(threads), left + 1);
        uint32_t n = 0;
        assert_status(QUIRE_OK, quire_threads_run(threads, count_member, &n));
        assert_int_equal(n, left + 1);
        quire_threads_destroy(threads);
    }
    if (!need_shared())
        skip();
    static struct result all, one;
    const struct quire_request_params rp = greedy(story, 8);
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    generate(e, &rp, &all);
    quire_engine_close(e);
    threads_left = 0;
    e = open_model("llama-q8_0.gguf");
    threads_left = UINT32_MAX;
    generate(e, &rp, &one);
    assert_same(&all, &one);
    quire_engine_close(e);
}

/* ---- files and signals */

static void few_descriptors(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct rlimit saved;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest free descriptor */
    assert_true(next >= 0);
    close(next);
    struct quire_error err = QUIRE_ERROR_INIT;
    for (rlim_t left = 0; left <= 4; left++) {
        const struct rlimit few = { (rlim_t)next + left, saved.rlim_max };
        struct quire_engine_params p = params_for("llama-q8_0.gguf");
        struct quire_engine *e;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        const quire_status s = quire_engine_open(&p, &e, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        if (left == 0) {
            assert_int_equal(s, QUIRE_E_IO);
            assert_int_equal(err.detail, EMFILE);
        }
        if (left == 4) /* model and tokenizer are not open at the same time */
            assert_int_equal(s, QUIRE_OK);
        assert_true(s == QUIRE_OK || s == QUIRE_E_IO);
        quire_engine_close(e);
    }
}

static void no_action(int signal) { (void)signal; }

/* A timer interrupts system calls all the time, without SA_RESTART. */
static void interrupted_calls(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct run calm = { .shared = shared_dir(), .dir = dir }, storm = calm;
    const struct sigaction action = { .sa_handler = no_action };
    struct sigaction saved;
    const struct itimerval fast = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    for (size_t i = 0; i < n_scenarios; i++) {
        assert_int_equal(scenarios[i].run(&calm), QUIRE_OK);
        sigaction(SIGALRM, &action, &saved);
        setitimer(ITIMER_REAL, &fast, NULL);
        const quire_status s = scenarios[i].run(&storm);
        setitimer(ITIMER_REAL, &off, NULL);
        sigaction(SIGALRM, &saved, NULL);
        assert_int_equal(s, QUIRE_OK);
        assert_true(calm.hash == storm.hash);
    }
}

/* A model path that is a pipe or a socket is refused; nothing is written to it. */
static void pipes_are_no_models(void **state)
{
    (void)state;
    int fds[2];
    char path[64];
    assert_int_equal(pipe(fds), 0);
    close(fds[0]); /* a write would raise SIGPIPE, which ends the process */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fds[1]);
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = path;
    p.pack_cache = path;
    struct quire_engine *e;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_engine_open(&p, &e, &err);
    assert_true(s == QUIRE_E_IO || s == QUIRE_E_FORMAT || s == QUIRE_E_UNSUPPORTED);
    close(fds[1]);
}

/* ---- locale */

static const char *const comma_locales[] = { "de_DE.utf8", "de_DE", "fr_FR.utf8", "nl_NL.utf8" };

/* A locale with a decimal comma, installed or compiled here. */
static bool set_comma(void)
{
    char command[512];
    for (size_t i = 0; i < sizeof comma_locales / sizeof comma_locales[0]; i++)
        if (setlocale(LC_ALL, comma_locales[i]))
            return true;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.utf8 >/dev/null 2>&1",
             dir);
    const int compiled = system(command);
    setenv("LOCPATH", dir, 1);
    return compiled != -1 && setlocale(LC_ALL, "de_DE.utf8");
}

static void decimal_comma(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static uint64_t hashes[64];
    assert_true(n_scenarios <= 64);
    for (size_t i = 0; i < n_scenarios; i++) {
        struct run run = { .shared = shared_dir(), .dir = dir };
        assert_int_equal(scenarios[i].run(&run), QUIRE_OK);
        hashes[i] = run.hash;
    }
    if (!set_comma()) {
        printf("skipped: no locale with a decimal comma\n");
        skip();
    }
    char number[16];
    snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5");
    for (size_t i = 0; i < n_scenarios; i++) {
        struct run run = { .shared = shared_dir(), .dir = dir };
        assert_int_equal(scenarios[i].run(&run), QUIRE_OK);
        assert_true(run.hash == hashes[i]);
    }
    struct quire_sampling_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_sampling_params_init(&p, sizeof p);
    p.top_p = 1.5f;
    assert_status(QUIRE_E_INVALID_ARG, quire_sampling_validate(&p, 10, &err));
    assert_non_null(strstr(err.msg, "1.5"));
    snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5"); /* the host's locale is still in use */
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misaligned_memory),
        cmocka_unit_test(cache_above_the_memory),
        cmocka_unit_test(threads_that_cannot_be_created),
        cmocka_unit_test(few_descriptors),
        cmocka_unit_test(interrupted_calls),
        cmocka_unit_test(pipes_are_no_models),
        cmocka_unit_test(decimal_comma),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
