/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - what the thread backends share. */
#ifndef QR_BASE_THREADS_H
#define QR_BASE_THREADS_H
#include "base/team.h"
#include <quire/threads.h>
#include <stdbool.h>

typedef void qr_part_fn(void *arg, const struct quire_team *team);

/* Runs part with the floating-point environment every kernel expects, and puts the caller's back. */
void qr_part_call(qr_part_fn *part, void *arg, const struct quire_team *team);

/* Spins for about spin_ns, then sleeps, until *word differs from `old`. False if it slept. sleepers counts the threads
 * that sleep. */
bool qr_wait_change(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t spin_ns);
/* The same for a word that other members of a team are about to change. *haste, 0 at first, learns how long spinning
 * pays. */
void qr_wait_member(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t *haste);
/* Sets *word and wakes whoever sleeps on it. */
void qr_publish(uint32_t *word, uint32_t value, uint32_t *sleepers);
/* Wakes whoever sleeps on a word that was changed (sequentially consistently) by the caller. */
void qr_wake(uint32_t *word, uint32_t *sleepers);

#ifdef QUIRE_WITH_OPENMP
void qr_openmp_run(uint32_t n_threads, struct qr_barrier *barrier, qr_part_fn *part, void *arg);
#endif

struct qr_pool; /* pthread workers */
/* Makes up to n_threads - 1 workers; fewer when the system gives fewer. NULL only when memory is short. */
struct qr_pool *qr_pool_create(const struct quire_allocator *allocator, uint32_t n_threads);
void qr_pool_destroy(struct qr_pool *pool);
uint32_t qr_pool_size(const struct qr_pool *pool); /* members, the caller included */
void qr_pool_run(struct qr_pool *pool, struct qr_barrier *barrier, qr_part_fn *part, void *arg);

/* Ranks 0..size-1 get consecutive ranges of [0, n), in multiples of `grain` where that is possible. */
static inline void qr_team_range(const struct quire_team *team, size_t n, size_t grain,
                                 size_t *begin, size_t *end)
{
    const size_t units = (n + grain - 1) / grain;
    const size_t b = units * team->rank / team->size * grain,
                 e = units * (team->rank + 1) / team->size * grain;
    *begin = b < n ? b : n;
    *end = e < n ? e : n;
}

#endif
