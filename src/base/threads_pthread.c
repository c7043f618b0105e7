/* SPDX-License-Identifier: Apache-2.0 */
/* threads_pthread.c - pthread backend of quire_threads_run: workers are created once and sleep
 * between runs. */
#include "base/threads_pthread.h"
#include "base/alloc.h"
#include "base/futex.h"
#include <pthread.h>
#include <signal.h>

/* Spin budget of a worker between two runs: longer than sampling a token takes. */
enum { IDLE_SPIN_NS = 200000 };

struct worker {
    struct qr_pthread_team *team;
    pthread_t thread;
    uint32_t rank;
};

struct qr_pthread_team {
    const struct quire_allocator *allocator;
    struct worker *workers; /* [max_workers], of which n_workers run */
    uint32_t max_workers, n_workers;
    uint32_t generation, idle_sleepers; /* the generation is incremented for each run */
    uint32_t running, run_sleepers;     /* workers that have not finished the run */
    uint32_t spin_shift;                /* of the caller's wait for the end of the run */
    qr_part_fn *part;                   /* NULL: workers exit */
    void *arg;
    struct qr_barrier *barrier;
};

static void *worker_main(void *p)
{
    struct worker *w = p;
    struct qr_pthread_team *t = w->team;
    uint32_t seen = 0;
    for (;;) {
        qr_futex_wait(&t->generation, seen, &t->idle_sleepers, IDLE_SPIN_NS);
        seen++;
        if (!t->part)
            return NULL;
        const struct quire_team team = { w->rank, t->n_workers + 1, t->barrier };
        qr_part_call(t->part, t->arg, &team);
        if (__atomic_sub_fetch(&t->running, 1, __ATOMIC_SEQ_CST) == 0)
            qr_futex_wake(&t->running, &t->run_sleepers); /* qr_pthread_team_run may sleep */
    }
}

uint32_t qr_pthread_team_size(const struct qr_pthread_team *t) { return t->n_workers + 1; }

struct qr_pthread_team *qr_pthread_team_create(const struct quire_allocator *allocator,
                                               uint32_t n_threads)
{
    struct qr_pthread_team *t = qr_calloc(allocator, 1, sizeof *t);
    if (!t)
        return NULL;
    t->allocator = allocator;
    t->max_workers = n_threads - 1;
    t->workers = qr_calloc(allocator, t->max_workers, sizeof *t->workers);
    if (!t->workers) {
        qr_free(allocator, t, 1, sizeof *t);
        return NULL;
    }
    /* workers inherit a full signal mask, so that the host's handlers never run on them */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (uint32_t i = 0; i < t->max_workers; i++) {
        struct worker *w = &t->workers[i];
        *w = (struct worker){ .team = t, .rank = i + 1 };
        if (pthread_create(&w->thread, NULL, worker_main, w))
            break;
        t->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return t;
}

static void start(struct qr_pthread_team *t, qr_part_fn *part, void *arg)
{
    t->part = part;
    t->arg = arg;
    __atomic_store_n(&t->running, t->n_workers, __ATOMIC_RELEASE);
    qr_futex_store(&t->generation, t->generation + 1, &t->idle_sleepers);
}

void qr_pthread_team_run(struct qr_pthread_team *t, struct qr_barrier *barrier, qr_part_fn *part,
                         void *arg)
{
    t->barrier = barrier;
    start(t, part, arg);
    const struct quire_team team = { 0, t->n_workers + 1, barrier };
    qr_part_call(part, arg, &team);
    for (uint32_t left; (left = __atomic_load_n(&t->running, __ATOMIC_ACQUIRE)) != 0;)
        qr_futex_wait_adaptive(&t->running, left, &t->run_sleepers, &t->spin_shift);
}

void qr_pthread_team_destroy(struct qr_pthread_team *t, bool running)
{
    if (running) {
        start(t, NULL, NULL);
        for (uint32_t i = 0; i < t->n_workers; i++)
            pthread_join(t->workers[i].thread, NULL);
    }
    qr_free(t->allocator, t->workers, t->max_workers, sizeof *t->workers);
    qr_free(t->allocator, t, 1, sizeof *t);
}
