/* SPDX-License-Identifier: Apache-2.0 */
/* threads_openmp.c - one OpenMP parallel region per run; the only file with a pragma. */
#include "base/threads.h"
#include <omp.h>

void qr_openmp_run(uint32_t n_threads, struct qr_barrier *barrier, qr_part_fn *part, void *arg)
{
#pragma omp parallel num_threads((int)n_threads)
    {
        /* the runtime may give fewer threads than asked for */
        const struct quire_team team = { (uint32_t)omp_get_thread_num(),
                                         (uint32_t)omp_get_num_threads(), barrier };
        qr_part_call(part, arg, &team);
    }
}
