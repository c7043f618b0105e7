/* SPDX-License-Identifier: Apache-2.0 */
/* threads_openmp.c - OpenMP backend of quire_threads_run; the only file with OpenMP pragmas. */
#include "base/threads_openmp.h"
#include "base/fork_count.h"
#include <omp.h>

/* 1 + qr_fork_count() of the last process that has run a team; 0 = none; atomic */
static uint32_t ran_in;

bool qr_openmp_usable(void)
{
    const uint32_t in = __atomic_load_n(&ran_in, __ATOMIC_RELAXED);
    return in == 0 || in == 1 + qr_fork_count();
}

void qr_openmp_run(uint32_t n_threads, struct qr_barrier *barrier, qr_part_fn *part, void *arg)
{
    __atomic_store_n(&ran_in, 1 + qr_fork_count(), __ATOMIC_RELAXED);
#pragma omp parallel num_threads((int)n_threads)
    {
        /* the OpenMP runtime may start fewer threads than requested */
        const struct quire_team team = { (uint32_t)omp_get_thread_num(),
                                         (uint32_t)omp_get_num_threads(), barrier };
        qr_part_call(part, arg, &team);
    }
}
