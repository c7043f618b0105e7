/* SPDX-License-Identifier: Apache-2.0 */
/* threads_openmp.c - OpenMP backend of quire_threads_run; the only file with OpenMP pragmas. */
#include "base/threads_openmp.h"
#include <omp.h>

void qr_openmp_run(uint32_t n_threads, struct qr_barrier *barrier, qr_part_fn *part, void *arg)
{
#pragma omp parallel num_threads((int)n_threads)
    {
        /* the OpenMP runtime may start fewer threads than requested */
        const struct quire_team team = { (uint32_t)omp_get_thread_num(),
                                         (uint32_t)omp_get_num_threads(), barrier };
        qr_part_call(part, arg, &team);
    }
}
