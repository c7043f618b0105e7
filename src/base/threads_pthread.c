/* SPDX-License-Identifier: Apache-2.0 */
/* threads_pthread.c - own worker threads: made once, they sleep between runs. */
#include "base/alloc.h"
#include "base/threads.h"
#include <pthread.h>
#include <signal.h>

/* A worker waits so long for the next run before it sleeps: longer than it takes to choose a token. */
enum { BETWEEN_RUNS_NS = 200000 };

struct worker {
    struct qr_pool *pool;
    pthread_t thread;
    uint32_t rank;
};

struct qr_pool {
    const struct quire_allocator *allocator;
    struct worker *workers; /* [n_asked], of which n_workers run */
    uint32_t n_asked, n_workers;
    uint32_t generation, gen_sleepers; /* a new generation is a new job */
    uint32_t running, run_sleepers;    /* workers that have not finished the job */
    uint32_t haste;
    qr_part_fn *part; /* NULL: leave */
    void *arg;
    struct qr_barrier *barrier;
};

static void *worker_main(void *p)
{
    struct worker *w = p;
    struct qr_pool *pool = w->pool;
    uint32_t seen = 0;
    for (;;) {
        qr_wait_change(&pool->generation, seen, &pool->gen_sleepers, BETWEEN_RUNS_NS);
        seen++;
        if (!pool->part)
            return NULL;
        const struct quire_team team = { w->rank, pool->n_workers + 1, pool->barrier };
        qr_part_call(pool->part, pool->arg, &team);
        if (__atomic_sub_fetch(&pool->running, 1, __ATOMIC_SEQ_CST) == 0)
            qr_wake(&pool->running,
                    &pool->run_sleepers); /* the caller may sleep until the last one is done */
    }
}

uint32_t qr_pool_size(const struct qr_pool *pool) { return pool->n_workers + 1; }

struct qr_pool *qr_pool_create(const struct quire_allocator *allocator, uint32_t n_threads)
{
    struct qr_pool *pool = qr_calloc(allocator, 1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->allocator = allocator;
    pool->n_asked = n_threads - 1;
    pool->workers = qr_calloc(allocator, pool->n_asked, sizeof *pool->workers);
    if (!pool->workers) {
        qr_free(allocator, pool, 1, sizeof *pool);
        return NULL;
    }
    /* a host's signal handlers must never run on our workers */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (uint32_t i = 0; i < pool->n_asked; i++) {
        struct worker *w = &pool->workers[i];
        *w = (struct worker){ .pool = pool, .rank = i + 1 };
        if (pthread_create(&w->thread, NULL, worker_main, w))
            break;
        pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pool;
}

static void start(struct qr_pool *pool, qr_part_fn *part, void *arg)
{
    pool->part = part;
    pool->arg = arg;
    __atomic_store_n(&pool->running, pool->n_workers, __ATOMIC_RELEASE);
    qr_publish(&pool->generation, pool->generation + 1, &pool->gen_sleepers);
}

void qr_pool_run(struct qr_pool *pool, struct qr_barrier *barrier, qr_part_fn *part, void *arg)
{
    pool->barrier = barrier;
    start(pool, part, arg);
    const struct quire_team team = { 0, pool->n_workers + 1, barrier };
    qr_part_call(part, arg, &team);
    for (uint32_t left; (left = __atomic_load_n(&pool->running, __ATOMIC_ACQUIRE)) != 0;)
        qr_wait_member(&pool->running, left, &pool->run_sleepers, &pool->haste);
}

void qr_pool_destroy(struct qr_pool *pool)
{
    if (!pool)
        return;
    start(pool, NULL, NULL);
    for (uint32_t i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    qr_free(pool->allocator, pool->workers, pool->n_asked, sizeof *pool->workers);
    qr_free(pool->allocator, pool, 1, sizeof *pool);
}
