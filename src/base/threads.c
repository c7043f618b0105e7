/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - quire_threads over the OpenMP and pthread backends. */
#include "base/threads.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fork_count.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads_pthread.h"
#ifdef QUIRE_WITH_OPENMP
#include "base/threads_openmp.h"
#endif
#include <stdbool.h>

enum { MAX_THREADS = 1024 };

struct quire_threads {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    enum quire_thread_backend backend;
    uint32_t n_threads;
    uint32_t fork_count;          /* of the process that has the threads */
    bool busy;                    /* atomic: a run is in progress */
    struct qr_pthread_team *team; /* NULL: OpenMP, or a single thread */
    struct qr_barrier barrier;
};

void qr_part_call(qr_part_fn *part, void *arg, const struct quire_team *team)
{
    QR_FP_SCOPE;
    part(arg, team);
}

QR_DEFINE_ZERO_INIT(quire_threads_params)

static quire_status check_params(const struct quire_threads_params *p, struct quire_error *err)
{
    if (p->n_threads > MAX_THREADS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.n_threads %u is above %d", p->n_threads,
                       MAX_THREADS);
    if ((int)p->backend < QUIRE_THREADS_DEFAULT || p->backend > QUIRE_THREADS_PTHREAD)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.backend %d is unknown", (int)p->backend);
    if (p->backend != QUIRE_THREADS_OPENMP)
        return QUIRE_OK;
#ifdef QUIRE_WITH_OPENMP
    if (!qr_openmp_usable())
        return qr_fail(err, QUIRE_E_MISUSE,
                       "params.backend: OpenMP deadlocks in a child of a process that has used it; "
                       "use QUIRE_THREADS_PTHREAD");
#else
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "params.backend: this build has no OpenMP");
#endif
    return QUIRE_OK;
}

static bool start_threads(struct quire_threads *t)
{
    if (!qr_fork_count_start())
        return false;
    t->fork_count = qr_fork_count();
    if (t->backend != QUIRE_THREADS_PTHREAD)
        return true;
    t->team = qr_pthread_team_create(t->allocator, t->n_threads);
    if (t->team)
        t->n_threads = qr_pthread_team_size(t->team);
    return t->team != NULL;
}

quire_status quire_threads_create(const struct quire_threads_params *params,
                                  struct quire_threads **out, struct quire_error *err)
{
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    struct quire_threads_params p = { .struct_size = sizeof p };
    if (params)
        QR_READ_STRUCT(&p, params, allocator, "params", err);
    QR_TRY(check_params(&p, err));
    if (p.backend == QUIRE_THREADS_DEFAULT)
        p.backend = QUIRE_THREADS_PTHREAD;
    struct quire_threads *t =
        qr_alloc_aligned(p.allocator, sizeof *t, _Alignof(struct quire_threads));
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a thread team");
    *t = (struct quire_threads){ .handle = { QR_KIND_THREADS },
                                 .allocator = p.allocator,
                                 .backend = p.backend };
    t->barrier.n_cpus = quire_threads_default_count();
    t->n_threads = p.n_threads ? p.n_threads : t->barrier.n_cpus;
    if (t->n_threads > 1 && !start_threads(t)) {
        const quire_status s =
            qr_fail(err, QUIRE_E_NOMEM, "no memory for %u threads", t->n_threads);
        qr_free(p.allocator, t, sizeof *t, 1);
        return s;
    }
    *out = t;
    return QUIRE_OK;
}

/* Whether the threads stayed in the parent process: fork() copies the calling thread only. */
static bool lost_threads(const struct quire_threads *t)
{
    return t->n_threads > 1 && t->fork_count != qr_fork_count();
}

void quire_threads_destroy(struct quire_threads *threads)
{
    if (!qr_handle_end(threads, QR_KIND_THREADS))
        return;
    if (threads->team)
        qr_pthread_team_destroy(threads->team, !lost_threads(threads));
    qr_free(threads->allocator, threads, sizeof *threads, 1);
}

uint32_t quire_threads_count(const struct quire_threads *threads)
{
    return qr_handle_is(threads, QR_KIND_THREADS) ? threads->n_threads : 0;
}

quire_status quire_threads_run_n(struct quire_threads *threads, uint32_t n_threads,
                                 void (*part)(void *, const struct quire_team *), void *arg)
{
    if (!qr_handle_is(threads, QR_KIND_THREADS) || !part || !n_threads ||
        n_threads > threads->n_threads)
        return QUIRE_E_INVALID_ARG;
    if (lost_threads(threads))
        return QUIRE_E_MISUSE;
    if (__atomic_exchange_n(&threads->busy, true, __ATOMIC_ACQUIRE))
        return QUIRE_E_BUSY;
    if (n_threads == 1) {
        const struct quire_team alone = { 0, 1, &threads->barrier };
        qr_part_call(part, arg, &alone);
#ifdef QUIRE_WITH_OPENMP
    } else if (threads->backend == QUIRE_THREADS_OPENMP) {
        qr_openmp_run(n_threads, &threads->barrier, part, arg);
#endif
    } else {
        qr_pthread_team_run(threads->team, n_threads, &threads->barrier, part, arg);
    }
    __atomic_store_n(&threads->busy, false, __ATOMIC_RELEASE);
    return QUIRE_OK;
}

quire_status quire_threads_run(struct quire_threads *threads,
                               void (*part)(void *, const struct quire_team *), void *arg)
{
    return quire_threads_run_n(threads, quire_threads_count(threads), part, arg);
}

quire_status qr_part_run_n(struct quire_threads *threads, uint32_t n, qr_part_fn *part, void *arg,
                           struct quire_error *err)
{
    if (!threads) {
        qr_part_call(part, arg, &(struct quire_team){ .size = 1 });
        return QUIRE_OK;
    }
    QR_TRY(qr_handle_check(threads, QR_KIND_THREADS, "threads", err));
    const quire_status s = quire_threads_run_n(threads, n, part, arg);
    if (s == QUIRE_E_BUSY)
        return qr_fail(err, s, "threads: another run is in progress");
    if (s == QUIRE_E_MISUSE)
        return qr_fail(err, s,
                       "threads: created before fork(), which copied none of them; create new "
                       "threads in the child");
    return s;
}

quire_status qr_part_run(struct quire_threads *threads, qr_part_fn *part, void *arg,
                         struct quire_error *err)
{
    return qr_part_run_n(threads, threads ? quire_threads_count(threads) : 1, part, arg, err);
}
