/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - quire_threads over the OpenMP and pthread backends. */
#include "base/threads.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct_size.h"
#include "base/threads_pthread.h"
#ifdef QUIRE_WITH_OPENMP
#include "base/threads_openmp.h"
#endif
#include <stdbool.h>

enum { MAX_THREADS = 1024 };

struct quire_threads {
    const struct quire_allocator *allocator;
    enum quire_thread_backend backend;
    uint32_t n_threads;
    bool busy;                    /* atomic: a run is in progress */
    struct qr_pthread_team *team; /* NULL: OpenMP, or a single thread */
    struct qr_barrier barrier;
};

#if defined(__x86_64__)
static uint64_t fp_get(void) { return __builtin_ia32_stmxcsr(); }
static void fp_set(uint64_t v) { __builtin_ia32_ldmxcsr((uint32_t)v); }
enum { FP_DEFAULT = 0x1f80 }; /* nearest even, denormals kept, exceptions masked */
#elif defined(__aarch64__)
static uint64_t fp_get(void)
{
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    return v;
}
static void fp_set(uint64_t v) { __asm__ volatile("msr fpcr, %0" ::"r"(v)); }
enum { FP_DEFAULT = 0 };
#else
static uint64_t fp_get(void) { return 0; }
static void fp_set(uint64_t v) { (void)v; }
enum { FP_DEFAULT = 0 };
#endif

void qr_part_call(qr_part_fn *part, void *arg, const struct quire_team *team)
{
    const uint64_t saved = fp_get();
    if (saved != FP_DEFAULT)
        fp_set(FP_DEFAULT);
    part(arg, team);
    if (saved != FP_DEFAULT)
        fp_set(saved);
}

QR_DEFINE_ZERO_INIT(quire_threads_params)

static quire_status check_params(const struct quire_threads_params *p, struct quire_error *err)
{
    if (p->n_threads > MAX_THREADS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.n_threads %u is above %d", p->n_threads,
                       MAX_THREADS);
    if ((int)p->backend < QUIRE_THREADS_DEFAULT || p->backend > QUIRE_THREADS_PTHREAD)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.backend %d is unknown", (int)p->backend);
#ifndef QUIRE_WITH_OPENMP
    if (p->backend == QUIRE_THREADS_OPENMP)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "params.backend: this build has no OpenMP");
#endif
    return QUIRE_OK;
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
    *t = (struct quire_threads){ .allocator = p.allocator, .backend = p.backend };
    t->n_threads = p.n_threads ? p.n_threads : quire_threads_default_count();
    if (t->n_threads > 1 && p.backend == QUIRE_THREADS_PTHREAD) {
        t->team = qr_pthread_team_create(p.allocator, t->n_threads);
        if (!t->team) {
            qr_free(p.allocator, t, sizeof *t, 1);
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u threads", p.n_threads);
        }
        t->n_threads = qr_pthread_team_size(t->team);
    }
    *out = t;
    return QUIRE_OK;
}

void quire_threads_destroy(struct quire_threads *threads)
{
    if (!threads)
        return;
    qr_pthread_team_destroy(threads->team);
    qr_free(threads->allocator, threads, sizeof *threads, 1);
}

uint32_t quire_threads_count(const struct quire_threads *threads)
{
    return threads ? threads->n_threads : 0;
}

quire_status quire_threads_run(struct quire_threads *threads,
                               void (*part)(void *, const struct quire_team *), void *arg)
{
    if (!threads || !part)
        return QUIRE_E_INVALID_ARG;
    if (__atomic_exchange_n(&threads->busy, true, __ATOMIC_ACQUIRE))
        return QUIRE_E_BUSY;
    if (threads->n_threads == 1) {
        const struct quire_team alone = { 0, 1, &threads->barrier };
        qr_part_call(part, arg, &alone);
#ifdef QUIRE_WITH_OPENMP
    } else if (threads->backend == QUIRE_THREADS_OPENMP) {
        qr_openmp_run(threads->n_threads, &threads->barrier, part, arg);
#endif
    } else {
        qr_pthread_team_run(threads->team, &threads->barrier, part, arg);
    }
    __atomic_store_n(&threads->busy, false, __ATOMIC_RELEASE);
    return QUIRE_OK;
}
