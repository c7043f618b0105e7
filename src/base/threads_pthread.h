/* SPDX-License-Identifier: Apache-2.0 */
/* threads_pthread.h - pthread backend of quire_threads_run: a persistent thread team. */
#ifndef QR_BASE_THREADS_PTHREAD_H
#define QR_BASE_THREADS_PTHREAD_H
#include "base/threads.h"
#include <stdbool.h>

struct qr_pthread_team;

/* Creates a team of the caller and up to n_threads - 1 workers; fewer when pthread_create fails.
 * NULL only when an allocation fails. */
struct qr_pthread_team *qr_pthread_team_create(const struct quire_allocator *allocator,
                                               uint32_t n_threads);
/* running false: fork() left the workers behind in the parent process. */
void qr_pthread_team_destroy(struct qr_pthread_team *team, bool running);
uint32_t qr_pthread_team_size(const struct qr_pthread_team *team); /* the caller included */

/* Runs part on `size` threads of the team, 1 .. qr_pthread_team_size, the caller as rank 0, and
 * returns when all have returned. One run at a time. */
void qr_pthread_team_run(struct qr_pthread_team *team, uint32_t size, struct qr_barrier *barrier,
                         qr_part_fn *part, void *arg);

#endif
