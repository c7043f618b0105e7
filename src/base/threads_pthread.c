/* SPDX-License-Identifier: Apache-2.0 */
/* threads_pthread.c - pthread backend of quire_threads_run: workers are created once and sleep
 * between runs.
 *
 * A worker is awake or parked. Awake workers wait for the next generation, which one store
 * announces to all of them. A run on fewer members than are awake parks the others: they see its
 * generation, confirm it, and then sleep on a word of their own, so that later runs of that size
 * neither wake nor wait for them. A run on more members than are awake wakes the missing ones one
 * by one. */
#include "base/threads_pthread.h"
#include "base/alloc.h"
#include "base/futex.h"
#include "base/signal_mask.h"

/* Spin budget of a worker between two runs: longer than sampling a token takes. */
enum { IDLE_SPIN_NS = 200000 };

struct worker {
    struct qr_pthread_team *team;
    pthread_t thread;
    uint32_t rank;
    uint32_t unparked, sleepers; /* unparked: 1 wakes the parked worker, which resets it */
};

struct qr_pthread_team {
    const struct quire_allocator *allocator;
    struct worker *workers; /* [max_workers], of which n_workers run */
    uint32_t max_workers, n_workers;
    uint32_t n_awake;                   /* ranks 1 .. n_awake wait for the generation */
    uint32_t size;                      /* members of the run, the caller included */
    uint32_t generation, idle_sleepers; /* the generation is incremented for each run */
    uint32_t running, run_sleepers;     /* workers that have not finished or confirmed the run */
    uint32_t spin_shift;                /* of the caller's wait for the end of the run */
    qr_part_fn *part;                   /* NULL: workers exit */
    void *arg;
    struct qr_barrier *barrier;
};

/* Waits for the run after generation `seen` and returns its generation. A parked worker gets the
 * run that wakes it: the generation cannot advance before the worker has finished that run. */
static uint32_t wait_for_run(struct worker *w, bool parked, uint32_t seen)
{
    struct qr_pthread_team *t = w->team;
    if (!parked) {
        qr_futex_wait(&t->generation, seen, &t->idle_sleepers, IDLE_SPIN_NS);
        return seen + 1;
    }
    qr_futex_wait(&w->unparked, 0, &w->sleepers, 0);
    w->unparked = 0;
    return __atomic_load_n(&t->generation, __ATOMIC_RELAXED);
}

static void *worker_main(void *p)
{
    struct worker *w = p;
    struct qr_pthread_team *t = w->team;
    uint32_t seen = 0;
    for (bool parked = false;;) {
        seen = wait_for_run(w, parked, seen);
        if (!t->part)
            return NULL;
        parked = w->rank >= t->size;
        if (!parked) {
            const struct quire_team team = { w->rank, t->size, t->barrier };
            qr_part_call(t->part, t->arg, &team);
        }
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
    sigset_t before;
    qr_signals_block(&before);
    for (uint32_t i = 0; i < t->max_workers; i++) {
        struct worker *w = &t->workers[i];
        *w = (struct worker){ .team = t, .rank = i + 1 };
        if (pthread_create(&w->thread, NULL, worker_main, w))
            break;
        t->n_workers++;
    }
    t->n_awake = t->n_workers;
    qr_signals_restore(&before);
    return t;
}

static void start(struct qr_pthread_team *t, uint32_t size, qr_part_fn *part, void *arg)
{
    const uint32_t awake = t->n_awake, wanted = size - 1;
    t->part = part;
    t->arg = arg;
    t->size = size;
    t->n_awake = wanted;
    __atomic_store_n(&t->running, wanted > awake ? wanted : awake, __ATOMIC_RELEASE);
    qr_futex_store(&t->generation, t->generation + 1, &t->idle_sleepers);
    for (uint32_t i = awake; i < wanted; i++)
        qr_futex_store(&t->workers[i].unparked, 1, &t->workers[i].sleepers);
}

void qr_pthread_team_run(struct qr_pthread_team *t, uint32_t size, struct qr_barrier *barrier,
                         qr_part_fn *part, void *arg)
{
    t->barrier = barrier;
    start(t, size, part, arg);
    const struct quire_team team = { 0, size, barrier };
    qr_part_call(part, arg, &team);
    for (uint32_t left; (left = __atomic_load_n(&t->running, __ATOMIC_ACQUIRE)) != 0;)
        qr_futex_wait_adaptive(&t->running, left, &t->run_sleepers, &t->spin_shift,
                               qr_team_is_crowded(barrier, size));
}

void qr_pthread_team_destroy(struct qr_pthread_team *t, bool running)
{
    if (running) {
        start(t, t->n_workers + 1, NULL, NULL);
        for (uint32_t i = 0; i < t->n_workers; i++)
            pthread_join(t->workers[i].thread, NULL);
    }
    qr_free(t->allocator, t->workers, t->max_workers, sizeof *t->workers);
    qr_free(t->allocator, t, 1, sizeof *t);
}
