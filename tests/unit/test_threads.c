/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - thread teams: barriers, sizes, work stealing, waiting, arguments, rounding
 * mode. */
#include "base/threads.h"
#include "base/work_steal.h"
#include "quire_cmocka.h"
#include "test_thread_sleep.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct tally {
    uint32_t seen[80], size, rounds;
    uint32_t counter;
    bool bad;
};

static void tally_part(void *arg, const struct quire_team *team)
{
    struct tally *t = arg;
    __atomic_fetch_add(&t->seen[quire_team_rank(team)], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&t->size, quire_team_size(team), __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < t->rounds; i++) {
        __atomic_fetch_add(&t->counter, 1, __ATOMIC_RELAXED);
        quire_team_barrier(team);
        if (__atomic_load_n(&t->counter, __ATOMIC_RELAXED) != quire_team_size(team) * (i + 1))
            __atomic_store_n(&t->bad, true, __ATOMIC_RELAXED);
        quire_team_barrier(team);
    }
}

static void run_team(enum quire_thread_backend backend, uint32_t n, int runs)
{
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    p.backend = backend;
    p.n_threads = n;
    struct quire_threads *threads;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
    for (int run = 0; run < runs; run++) {
        struct tally t = { .rounds = 50 };
        assert_status(QUIRE_OK, quire_threads_run(threads, tally_part, &t));
        assert_false(t.bad);
        for (uint32_t r = 0; r < t.size; r++)
            assert_int_equal(t.seen[r], 1);
        assert_in_range(t.size, 1, n);
    }
    quire_threads_destroy(threads);
}

static void run_backend(enum quire_thread_backend backend)
{
    for (uint32_t n = 1; n <= 7; n++)
        run_team(backend, n, 20);
}

static void pthread_team(void **state)
{
    (void)state;
    run_backend(QUIRE_THREADS_PTHREAD);
}

/* Two-level barriers: the smallest such team, full clusters, a last cluster of each size, and teams
 * too large for clusters of four threads. */
static void large_teams(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 8, 9, 10, 11, 16, 63, 64, 65, 70 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        run_team(QUIRE_THREADS_PTHREAD, sizes[i], 2);
}

static void openmp_team(void **state)
{
    (void)state;
#ifdef QUIRE_WITH_OPENMP
    run_backend(QUIRE_THREADS_OPENMP);
#else
    skip();
#endif
}

/* ---- Sleeping threads */

static struct thread_list threads_of_process(void)
{
    struct thread_list l = { 0 };
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) && l.n < MANY_THREADS;)
        if (e->d_name[0] != '.')
            l.ids[l.n++] = atoi(e->d_name);
    closedir(dir);
    return l;
}

/* The threads of `now` that `before` does not list. */
static struct thread_list new_threads(const struct thread_list *now,
                                      const struct thread_list *before)
{
    struct thread_list l = { 0 };
    for (int i = 0; i < now->n; i++) {
        bool old = false;
        for (int k = 0; k < before->n; k++)
            old = old || before->ids[k] == now->ids[i];
        if (!old)
            l.ids[l.n++] = now->ids[i];
    }
    return l;
}

struct idle_check {
    struct thread_list before, workers;
    bool asleep;
};

/* Rank 0 reaches the barrier last and checks that the waiting threads sleep. */
static void late_part(void *arg, const struct quire_team *team)
{
    struct idle_check *n = arg;
    if (!quire_team_rank(team))
        n->asleep = stay_asleep(&n->workers);
    quire_team_barrier(team);
}

/* Threads that wait in a barrier fall asleep, and so do workers between two runs. */
static void idle_team(void **state)
{
    (void)state;
    struct idle_check n = { .before = threads_of_process() };
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    p.n_threads = 4;
    struct quire_threads *threads;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
    const struct thread_list now = threads_of_process();
    n.workers = new_threads(&now, &n.before);
    assert_int_equal(n.workers.n, 3);
    assert_status(QUIRE_OK, quire_threads_run(threads, late_part, &n));
    assert_true(n.asleep);
    struct tally t = { .rounds = 50 };
    assert_status(QUIRE_OK, quire_threads_run(threads, tally_part, &t));
    assert_true(stay_asleep(&n.workers));
    quire_threads_destroy(threads);
}

/* ---- Runs on fewer members */

/* Runs of every order of sizes: growing, shrinking, and the same twice. */
static void run_sizes(enum quire_thread_backend backend)
{
    static const uint32_t sizes[] = { 9, 3, 3, 1, 5, 2, 9, 1, 1, 8, 9, 4, 6, 1, 9 };
    struct quire_threads *threads;
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    p.backend = backend;
    p.n_threads = 9;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, NULL));
    assert_int_equal(quire_threads_count(threads), 9);
    for (size_t i = 0; i < 20 * sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i % (sizeof sizes / sizeof *sizes)];
        struct tally t = { .rounds = i % 2 ? 10 : 0 };
        assert_status(QUIRE_OK, quire_threads_run_n(threads, n, tally_part, &t));
        assert_false(t.bad);
        assert_in_range(t.size, backend == QUIRE_THREADS_PTHREAD ? n : 1, n);
        for (uint32_t r = 0; r < 9; r++)
            assert_int_equal(t.seen[r], r < t.size);
    }
    quire_threads_destroy(threads);
}

static void team_sizes(void **state)
{
    (void)state;
    run_sizes(QUIRE_THREADS_PTHREAD);
}

static void team_sizes_openmp(void **state)
{
    (void)state;
#ifdef QUIRE_WITH_OPENMP
    run_sizes(QUIRE_THREADS_OPENMP);
#else
    skip();
#endif
}

/* Excluded threads sleep, and runs without them do not wake them; later runs include them again. */
static void excluded_threads(void **state)
{
    (void)state;
    struct quire_threads *threads;
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    p.n_threads = 5;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, NULL));
    struct thread_list members = { 0 };
    assert_status(QUIRE_OK, quire_threads_run(threads, list_member, &members));
    assert_int_equal(members.n, 5);
    struct tally t = { .rounds = 1 };
    assert_status(QUIRE_OK, quire_threads_run_n(threads, 2, tally_part, &t));
    struct thread_list excluded = { .n = 3,
                                    .ids = { members.ids[2], members.ids[3], members.ids[4] } };
    assert_true(stay_asleep(&excluded));
    long before[3];
    for (int i = 0; i < 3; i++)
        before[i] = sleep_count(excluded.ids[i]);
    for (int run = 0; run < 100; run++)
        assert_status(QUIRE_OK, quire_threads_run_n(threads, 1 + run % 2, tally_part, &t));
    for (int i = 0; i < 3; i++)
        assert_int_equal(sleep_count(excluded.ids[i]), before[i]);
    t = (struct tally){ .rounds = 3 };
    assert_status(QUIRE_OK, quire_threads_run(threads, tally_part, &t));
    assert_int_equal(t.size, 5);
    assert_false(t.bad);
    assert_status(QUIRE_OK, quire_threads_run_n(threads, 2, tally_part, &t));
    quire_threads_destroy(threads); /* wakes the parked threads, which exit */
}

static struct quire_threads *threads_of_size(uint32_t size)
{
    struct quire_threads_params p;
    struct quire_threads *threads;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_threads_params_init(&p, sizeof p);
    p.n_threads = size;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
    return threads;
}

/* Every unit is handed out exactly once, whatever the order and duration of units. */
struct steal {
    struct qr_work_steal_counters lines[8];
    uint32_t n, stages, twice;
    uint32_t seen[200];
};

static void steal_part(void *arg, const struct quire_team *team)
{
    struct steal *sh = arg;
    for (uint32_t stage = 0; stage < sh->stages; stage++) {
        const uint32_t n = (sh->n + stage * 7) % 200;
        struct qr_work_steal s = qr_work_steal_begin(sh->lines, team, n);
        for (size_t i; qr_work_steal_next(&s, &i);) {
            if (__atomic_fetch_add(&sh->seen[i], 1, __ATOMIC_RELAXED) != stage)
                __atomic_fetch_add(&sh->twice, 1, __ATOMIC_RELAXED);
            if (quire_team_rank(team) == 0 && i == 0 && stage % 8 == 0)
                usleep(200); /* the other threads steal the rest of this range */
        }
        for (size_t i = n + quire_team_rank(team); i < 200; i += quire_team_size(team))
            __atomic_fetch_add(&sh->seen[i], 1, __ATOMIC_RELAXED);
        quire_team_barrier(team);
    }
}

static void work_stealing(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 8; size++) {
        struct quire_threads *threads = threads_of_size(size);
        struct steal sh = { .n = size, .stages = 60 };
        assert_status(QUIRE_OK, quire_threads_run(threads, steal_part, &sh));
        assert_int_equal(sh.twice, 0);
        for (int i = 0; i < 200; i++)
            assert_int_equal(sh.seen[i], sh.stages);
        quire_threads_destroy(threads);
    }
}

/* Results of a stage are complete after waiting for it, without a barrier in between. */
struct await {
    struct qr_work_steal_counters lines[8];
    uint32_t results[37], incomplete;
};

static void await_part(void *arg, const struct quire_team *team)
{
    enum { N = sizeof((struct await *)0)->results / sizeof(uint32_t) };
    struct await *sh = arg;
    for (uint32_t stage = 1; stage <= 100; stage++) {
        struct qr_work_steal s = qr_work_steal_begin(sh->lines, team, stage % N);
        size_t finished = 0;
        for (size_t i; qr_work_steal_next(&s, &i); finished++) {
            if (i == 0 && stage % 8 == 0)
                usleep(2000);       /* the other threads sleep */
            sh->results[i] = stage; /* not atomic: waiting orders it */
        }
        qr_work_steal_finish(&s, finished);
        qr_work_steal_wait(&s);
        for (uint32_t i = 0; i < stage % N; i++)
            if (sh->results[i] != stage)
                __atomic_fetch_add(&sh->incomplete, 1, __ATOMIC_RELAXED);
        quire_team_barrier(team);
    }
}

static void work_awaited(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 8; size++) {
        struct quire_threads *threads = threads_of_size(size);
        struct await sh = { .incomplete = 0 };
        assert_status(QUIRE_OK, quire_threads_run(threads, await_part, &sh));
        assert_int_equal(sh.incomplete, 0);
        quire_threads_destroy(threads);
    }
}

struct reenter {
    struct quire_threads *threads;
    quire_status inner, inner_n;
};

static void reenter_part(void *arg, const struct quire_team *team)
{
    struct reenter *r = arg;
    struct tally t = { 0 };
    if (quire_team_rank(team) != 0)
        return;
    r->inner = quire_threads_run(r->threads, tally_part, &t);
    r->inner_n = quire_threads_run_n(r->threads, 1, tally_part, &t);
}

static void thread_arguments(void **state)
{
    (void)state;
    struct quire_threads *threads = (void *)1;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, NULL, &err));
    p.n_threads = 100000;
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, &threads, &err));
    assert_null(threads);
    p.n_threads = 2;
    p.struct_size = 3;
    assert_status(QUIRE_E_MISUSE, quire_threads_create(&p, &threads, &err));
    quire_threads_params_init(&p, sizeof p);
    p.backend = (enum quire_thread_backend)9;
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, &threads, &err));
    assert_status(QUIRE_OK, quire_threads_create(NULL, &threads, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run(threads, NULL, NULL));
    const uint32_t n = quire_threads_count(threads);
    struct tally none = { 0 };
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run_n(NULL, 1, tally_part, &none));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run_n(threads, 1, NULL, &none));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run_n(threads, 0, tally_part, &none));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run_n(threads, n + 1, tally_part, &none));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run_n(threads, UINT32_MAX, tally_part, &none));
    assert_int_equal(none.size, 0);
    struct reenter r = { .threads = threads };
    assert_status(QUIRE_OK, quire_threads_run(threads, reenter_part, &r));
    assert_int_equal(r.inner, QUIRE_E_BUSY);
    assert_int_equal(r.inner_n, QUIRE_E_BUSY);
    quire_threads_destroy(threads);
    quire_threads_destroy(NULL);
    assert_in_range(quire_threads_default_count(), 1, 1024);
}

static void thread_allocation_failures(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        fail_alloc_init(&f, n, true);
        struct quire_threads_params p = { sizeof p, QUIRE_THREADS_PTHREAD, 3, &f.hooks };
        struct quire_threads *threads;
        const quire_status s = quire_threads_create(&p, &threads, NULL);
        quire_threads_destroy(threads);
        assert_int_equal(f.live_bytes, 0);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
    }
}

#if defined(__x86_64__)
static void csr_part(void *arg, const struct quire_team *team)
{
    if (quire_team_rank(team) == 0)
        *(unsigned *)arg = _mm_getcsr() & 0xffc0;
}

static void host_rounding_mode(void **state)
{
    (void)state;
    struct quire_threads *threads;
    assert_status(QUIRE_OK, quire_threads_create(NULL, &threads, NULL));
    const unsigned host = 0x1f80 | 0x8040 | 0x6000; /* FTZ, DAZ, round toward zero */
    unsigned inside = 0;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(host);
    const quire_status s = quire_threads_run(threads, csr_part, &inside);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(s, QUIRE_OK);
    assert_int_equal(inside, 0x1f80);
    assert_int_equal(after & 0xffc0, host & 0xffc0);
    quire_threads_destroy(threads);
}
#endif

static void record_mask(void *arg, const struct quire_team *team)
{
    sigset_t *masks = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &masks[quire_team_rank(team)]);
}

/* The host's handlers never run on workers, except for faults of the worker itself. */
static void signal_masks(void **state)
{
    (void)state;
    static const int blocked[] = { SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD };
    static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL };
    struct quire_threads_params p;
    quire_threads_params_init(&p, sizeof p);
    p.backend = QUIRE_THREADS_PTHREAD;
    p.n_threads = 3;
    struct quire_threads *threads;
    sigset_t masks[3], host;
    pthread_sigmask(SIG_SETMASK, NULL, &host);
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, NULL));
    assert_status(QUIRE_OK, quire_threads_run(threads, record_mask, masks));
    for (uint32_t i = 1; i < quire_threads_count(threads); i++) {
        for (size_t k = 0; k < sizeof blocked / sizeof *blocked; k++)
            assert_true(sigismember(&masks[i], blocked[k]));
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            assert_false(sigismember(&masks[i], faults[k]));
    }
    for (size_t k = 0; k < sizeof blocked / sizeof *blocked; k++)
        assert_int_equal(sigismember(&masks[0], blocked[k]), sigismember(&host, blocked[k]));
    quire_threads_destroy(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pthread_team),
        cmocka_unit_test(openmp_team),
        cmocka_unit_test(large_teams),
        cmocka_unit_test(idle_team),
        cmocka_unit_test(team_sizes),
        cmocka_unit_test(team_sizes_openmp),
        cmocka_unit_test(excluded_threads),
        cmocka_unit_test(signal_masks),
        cmocka_unit_test(work_stealing),
        cmocka_unit_test(work_awaited),
        cmocka_unit_test(thread_arguments),
        cmocka_unit_test(thread_allocation_failures),
#if defined(__x86_64__)
        cmocka_unit_test(host_rounding_mode),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
