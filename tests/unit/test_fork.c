/* SPDX-License-Identifier: Apache-2.0 */
/* test_fork.c - objects in a child of fork(): calls that need threads of the parent fail,
 * everything else works, and all objects can be closed. */
#include "engine_requests.h"
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 60 };

/* Runs check in a child; its result is 0 or the line that failed. A child that hangs is ended by
 * SIGALRM. */
static void in_child(int (*check)(void *arg), void *arg)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        _exit(check(arg));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status))
        fail_msg("the child failed at line %d", WEXITSTATUS(status));
}

#define CHECK(condition)                                                                           \
    if (!(condition))                                                                              \
    return __LINE__ % 256

static void count_member(void *arg, const struct quire_team *team)
{
    quire_team_barrier(team);
    __atomic_fetch_add((uint32_t *)arg, 1, __ATOMIC_RELAXED);
}

static bool runs(struct quire_threads *threads)
{
    uint32_t n = 0;
    return quire_threads_run(threads, count_member, &n) == QUIRE_OK &&
           n == quire_threads_count(threads);
}

static struct quire_threads *create(uint32_t n_threads, enum quire_thread_backend backend)
{
    const struct quire_threads_params p = { sizeof p, backend, n_threads, NULL };
    struct quire_threads *threads;
    return quire_threads_create(&p, &threads, NULL) == QUIRE_OK ? threads : NULL;
}

static int use_threads(void *arg)
{
    struct quire_threads *threads = arg;
    uint32_t n = 0;
    CHECK(quire_threads_run(threads, count_member, &n) == QUIRE_E_MISUSE && n == 0);
    CHECK(quire_threads_run_n(threads, 1, count_member, &n) == QUIRE_E_MISUSE && n == 0);
    CHECK(quire_threads_count(threads) == 3);
    quire_threads_destroy(threads);
    struct quire_threads *own = create(3, QUIRE_THREADS_PTHREAD);
    CHECK(own && runs(own));
    quire_threads_destroy(own);
    return 0;
}

static void threads_in_child(void **state)
{
    (void)state;
    struct quire_threads *threads = create(3, QUIRE_THREADS_PTHREAD);
    assert_true(runs(threads));
    in_child(use_threads, threads);
    assert_true(runs(threads)); /* nothing has changed for the parent */
    quire_threads_destroy(threads);
}

static int use_single(void *arg)
{
    CHECK(runs(arg));
    quire_threads_destroy(arg);
    return 0;
}

static int use_forked_again(void *arg)
{
    (void)arg;
    struct quire_threads *own = create(2, QUIRE_THREADS_PTHREAD);
    CHECK(own && runs(own));
    /* A thread that is just starting holds locks of AddressSanitizer, which its child never gets:
     * after a run all threads have started. */
    struct quire_threads *other = create(3, QUIRE_THREADS_PTHREAD);
    CHECK(other && runs(other));
    in_child(use_threads, other);
    CHECK(runs(own));
    return 0;
}

static void single_thread_and_grandchild(void **state)
{
    (void)state;
    struct quire_threads *one = create(1, QUIRE_THREADS_PTHREAD);
    in_child(use_single, one);
    assert_true(runs(one));
    quire_threads_destroy(one);
    in_child(use_forked_again, NULL);
}

#ifdef QUIRE_WITH_OPENMP
static int use_openmp(void *arg)
{
    uint32_t n = 0;
    CHECK(quire_threads_run(arg, count_member, &n) == QUIRE_E_MISUSE);
    quire_threads_destroy(arg);
    const struct quire_threads_params p = { sizeof p, QUIRE_THREADS_OPENMP, 2, NULL };
    struct quire_threads *own;
    struct quire_error err = QUIRE_ERROR_INIT;
    CHECK(quire_threads_create(&p, &own, &err) == QUIRE_E_MISUSE && !own);
    CHECK(strstr(err.msg, "params.backend"));
    return 0;
}

static void openmp_in_child(void **state)
{
    (void)state;
    struct quire_threads *threads = create(2, QUIRE_THREADS_OPENMP);
    assert_true(runs(threads));
    in_child(use_openmp, threads);
    assert_true(runs(threads));
    quire_threads_destroy(threads);
}
#endif

/* A team of one host thread: the child has that thread. */
static int use_team(void *arg)
{
    struct quire_host_team *team = arg;
    quire_team_barrier(quire_host_team_member(team, 0));
    quire_host_team_destroy(team);
    return 0;
}

static void host_team_in_child(void **state)
{
    (void)state;
    struct quire_host_team *team;
    assert_status(QUIRE_OK, quire_host_team_create(1, NULL, &team, NULL));
    in_child(use_team, team);
    quire_host_team_destroy(team);
}

/* Nobody runs the steps of an engine whose own thread is in the parent. */
static int use_started_engine(void *arg)
{
    struct quire_engine *engine = arg;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_request_params rp = greedy(story, 4);
    struct quire_event ev = { .struct_size = sizeof ev };
    quire_request_id id;
    CHECK(quire_engine_submit(engine, &rp, &id, &err) == QUIRE_E_MISUSE);
    CHECK(strstr(err.msg, "fork"));
    CHECK(quire_engine_poll(engine, &ev, NULL) == QUIRE_E_MISUSE);
    CHECK(quire_engine_wait(engine, 0, -1, &ev, NULL) == QUIRE_E_MISUSE);
    CHECK(quire_engine_step(engine, NULL) == QUIRE_E_MISUSE);
    CHECK(quire_engine_drain(engine, 0, NULL) == QUIRE_E_MISUSE);
    const struct quire_cache_file_params file = { .struct_size = sizeof file,
                                                  .path = "/dev/null/x" };
    CHECK(quire_engine_save_cache(engine, &file, NULL, NULL) == QUIRE_E_MISUSE);
    quire_engine_close(engine);
    return 0;
}

static void started_engine_in_child(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *engine = open_model("llama-q8_0.gguf");
    assert_status(QUIRE_OK, quire_engine_start(engine, NULL));
    in_child(use_started_engine, engine);
    const struct quire_request_params rp = greedy(story, 4); /* the parent goes on */
    const quire_request_id id = submit(engine, &rp);
    struct quire_event ev = { .struct_size = sizeof ev };
    do
        assert_status(QUIRE_OK, quire_engine_wait(engine, id, -1, &ev, NULL));
    while (ev.kind != QUIRE_EVENT_DONE);
    quire_engine_close(engine);
}

/* The request ends with an error that names the threads, and the engine can be closed. */
static int use_engine(void *arg)
{
    struct quire_engine *engine = arg;
    struct quire_request_params rp = greedy(story, 4);
    quire_request_id id;
    CHECK(quire_engine_submit(engine, &rp, &id, NULL) == QUIRE_OK);
    CHECK(quire_engine_step(engine, NULL) == QUIRE_OK);
    struct quire_event ev = { .struct_size = sizeof ev };
    CHECK(quire_engine_poll(engine, &ev, NULL) == QUIRE_OK);
    CHECK(ev.kind == QUIRE_EVENT_DONE && ev.reason == QUIRE_FINISH_ERROR);
    CHECK(ev.status == QUIRE_E_MISUSE && strstr(ev.message, "fork"));
    CHECK(quire_engine_active_count(engine) == 0);
    /* the model's weights are shared with the parent: an engine with threads of the child */
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model = (struct quire_model *)quire_engine_model(engine);
    p.tokenizer = quire_engine_tokenizer(engine);
    p.n_threads = 2;
    struct quire_engine *own;
    CHECK(quire_engine_open(&p, &own, NULL) == QUIRE_OK);
    CHECK(quire_engine_submit(own, &rp, &id, NULL) == QUIRE_OK);
    do {
        CHECK(quire_engine_step(own, NULL) == QUIRE_OK);
        CHECK(quire_engine_poll(own, &ev, NULL) == QUIRE_OK);
    } while (ev.kind != QUIRE_EVENT_DONE);
    CHECK(ev.reason == QUIRE_FINISH_LENGTH || ev.reason == QUIRE_FINISH_STOP);
    quire_engine_close(own);
    quire_engine_close(engine);
    return 0;
}

static void engine_in_child(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *engine = open_model("llama-q8_0.gguf");
    static struct result before, after;
    const struct quire_request_params rp = greedy(story, 4);
    generate(engine, &rp, &before);
    in_child(use_engine, engine);
    generate(engine, &rp, &after);
    assert_same(&before, &after);
    quire_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_in_child),   cmocka_unit_test(single_thread_and_grandchild),
#ifdef QUIRE_WITH_OPENMP
        cmocka_unit_test(openmp_in_child),
#endif
        cmocka_unit_test(host_team_in_child), cmocka_unit_test(started_engine_in_child),
        cmocka_unit_test(engine_in_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
