/* SPDX-License-Identifier: Apache-2.0 */
/* threads_openmp.h - OpenMP backend of quire_threads_run. */
#ifndef QR_BASE_THREADS_OPENMP_H
#define QR_BASE_THREADS_OPENMP_H
#include "base/threads.h"
#include <stdbool.h>

/* False in a child of a process that has run a team: libgomp would wait for threads that the child
 * does not have. */
bool qr_openmp_usable(void);

/* Runs part on a team of at most n_threads in one parallel region. */
void qr_openmp_run(uint32_t n_threads, struct qr_barrier *barrier, qr_part_fn *part, void *arg);

#endif
