/* SPDX-License-Identifier: Apache-2.0 */
/* bench_team.c - cost of a barrier and of a parallel region: thread backends of quire, and plain
 * OpenMP. */
#include "bench_team.h"
#include "bench_measure.h"
#include <math.h>

static const struct bench_column columns[] = {
    { "operation", "operation", BENCH_TEXT, 28 },
    { "threads", "threads", 0, 7 },
    { "us", "us", 3, 8 },
    { "95 % low", "us_lo", 3, 8 },
    { "high", "us_hi", 3, 8 },
};

static void row(struct bench_table *t, const char *operation, uint32_t threads,
                const struct bench_samples *us)
{
    const struct bench_summary s = bench_summarize(us);
    bench_text(t, "%s", operation);
    bench_number(t, threads);
    bench_number(t, s.median);
    bench_number(t, s.lo);
    bench_number(t, s.hi);
}

enum { CALLS = 200, TRIES = 10 };

/* Adds the time of a round unless a thread was preempted. The last `rounds` attempts always
 * count. */
static void keep(struct bench_samples *us, double seconds, long preempted, unsigned attempt,
                 unsigned rounds)
{
    if (us->n < rounds && (bench_preemptions() == preempted || attempt >= (TRIES - 1) * rounds))
        bench_sample(us, seconds / CALLS * 1e6);
}

static void barriers_part(void *arg, const struct quire_team *team)
{
    double *seconds = arg;
    quire_team_barrier(team);
    const double start = bench_now();
    for (int i = 0; i < CALLS; i++)
        quire_team_barrier(team);
    if (quire_team_rank(team) == 0)
        *seconds = bench_now() - start;
}

static void empty_part(void *arg, const struct quire_team *team) { (void)arg, (void)team; }

static int backend(struct bench_table *t, enum quire_thread_backend which, uint32_t n,
                   unsigned rounds)
{
    const bool openmp = which == QUIRE_THREADS_OPENMP;
    struct quire_threads *threads;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params params;
    quire_threads_params_init(&params, sizeof params);
    params.backend = which;
    params.n_threads = n;
    quire_status s = quire_threads_create(&params, &threads, &err);
    if (s == QUIRE_E_UNSUPPORTED)
        return 0;
    struct bench_samples barrier = { 0 }, region = { 0 };
    struct bench_pinning pinning = { 0 };
    if (s == QUIRE_OK)
        bench_pin(threads, &pinning);
    for (unsigned i = 0;
         s == QUIRE_OK && i < TRIES * rounds && (barrier.n < rounds || region.n < rounds); i++) {
        double seconds = 0;
        long preempted = bench_preemptions();
        s = quire_threads_run(threads, barriers_part, &seconds);
        keep(&barrier, seconds, preempted, i, rounds);
        preempted = bench_preemptions();
        const double start = bench_now();
        for (int k = 0; s == QUIRE_OK && k < CALLS; k++)
            s = quire_threads_run(threads, empty_part, NULL);
        keep(&region, bench_now() - start, preempted, i, rounds);
    }
    bench_unpin(&pinning);
    if (s != QUIRE_OK) {
        quire_threads_destroy(threads);
        return bench_fail("threads", s, &err);
    }
    row(t, openmp ? "barrier, OpenMP backend" : "barrier, pthread backend", n, &barrier);
    row(t, openmp ? "region, OpenMP backend" : "region, pthread backend", n, &region);
    quire_threads_destroy(threads);
    return 0;
}

#ifdef _OPENMP
static void openmp_runtime(struct bench_table *t, uint32_t n, unsigned rounds)
{
    struct bench_samples barrier = { 0 }, region = { 0 };
    for (unsigned i = 0; i < TRIES * rounds && (barrier.n < rounds || region.n < rounds); i++) {
        double seconds = 0;
        long preempted = bench_preemptions();
        const double start = bench_now();
        for (int k = 0; k < CALLS; k++) {
#pragma omp parallel num_threads((int)n)
            __asm__ volatile("" ::: "memory");
        }
        keep(&region, bench_now() - start, preempted, i, rounds);
        preempted = bench_preemptions();
#pragma omp parallel num_threads((int)n)
        {
#pragma omp barrier
            const double begin = bench_now();
            for (int k = 0; k < CALLS; k++) {
#pragma omp barrier
            }
#pragma omp master
            seconds = bench_now() - begin;
        }
        keep(&barrier, seconds, preempted, i, rounds);
    }
    row(t, "#pragma omp barrier", n, &barrier);
    row(t, "#pragma omp parallel", n, &region);
}
#endif

int bench_team_table(struct bench_table *t, const struct bench_options *o,
                     const struct bench_list *threads)
{
    const unsigned rounds = bench_repetitions(o, 15);
    bench_table_begin(t, "Barrier and parallel region", columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < threads->n; i++) {
        const uint32_t n = threads->v[i];
        if (n < 2)
            continue;
        /* pthread first: idle OpenMP workers would spin during its rounds */
        int code = backend(t, QUIRE_THREADS_PTHREAD, n, rounds);
        if (!code)
            code = backend(t, QUIRE_THREADS_OPENMP, n, rounds);
        if (code)
            return code;
#ifdef _OPENMP
        openmp_runtime(t, n, rounds);
#endif
    }
    bench_table_end(t);
    return 0;
}
