/* SPDX-License-Identifier: Apache-2.0 */
/* work_steal.h - work-stealing loop over the work units of a stage.
 *
 * Each thread starts on its own contiguous range, then steals from the others. Results must not
 * depend on which thread runs a unit. */
#ifndef QR_BASE_WORK_STEAL_H
#define QR_BASE_WORK_STEAL_H
#include "base/futex.h"
#include "base/team.h"
#include <quire/threads.h>
#include <stdbool.h>
#include <stddef.h>

/* Counters of one thread, on a cache line of their own. Stages alternate between the two entries
 * of `taken` and `finished`: during a stage, its owner resets the other one, which no thread reads
 * then. */
struct qr_work_steal_counters {
    _Alignas(64) uint32_t taken[2]; /* units of the owner's range that are taken; may exceed it */
    uint32_t n_stages;              /* stages begun; only the owner accesses it */
    /* of thread 0 alone, for qr_work_steal_wait: units that are finished, and threads that sleep */
    uint32_t finished[2], sleepers;
};

/* One thread's loop over one stage. */
struct qr_work_steal {
    struct qr_work_steal_counters *counters;
    struct quire_team team;
    uint32_t n_units, parity;
    uint32_t distance; /* units come from the range of thread (rank + distance) % size */
};

/* Begins a stage of n_units. counters[team->size] are zero before the first stage of a team. All
 * threads take part in the same stages, with a barrier between two stages. */
static inline struct qr_work_steal qr_work_steal_begin(struct qr_work_steal_counters *counters,
                                                       const struct quire_team *team,
                                                       size_t n_units)
{
    struct qr_work_steal_counters *own = &counters[team->rank];
    const uint32_t parity = own->n_stages++ % 2;
    __atomic_store_n(&own->taken[!parity], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&own->finished[!parity], 0, __ATOMIC_RELAXED);
    return (struct qr_work_steal){
        .counters = counters, .team = *team, .n_units = (uint32_t)n_units, .parity = parity
    };
}

/* Takes the next unit. False when the stage has no units left. */
static inline bool qr_work_steal_next(struct qr_work_steal *s, size_t *unit)
{
    for (; s->distance < s->team.size; s->distance++) {
        const uint32_t victim = (s->team.rank + s->distance) % s->team.size;
        const uint32_t begin = (uint32_t)((uint64_t)s->n_units * victim / s->team.size),
                       end = (uint32_t)((uint64_t)s->n_units * (victim + 1) / s->team.size);
        uint32_t *taken = &s->counters[victim].taken[s->parity];
        /* a load before the add: threads do not write to the line of an exhausted range */
        if (__atomic_load_n(taken, __ATOMIC_RELAXED) >= end - begin)
            continue;
        const uint32_t i = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED);
        if (i < end - begin) {
            *unit = begin + i;
            return true;
        }
    }
    return false;
}

/* ---- Results that are needed before the barrier at the end of a stage */

/* Counts n units of the calling thread as finished. */
static inline void qr_work_steal_finish(const struct qr_work_steal *s, size_t n)
{
    uint32_t *finished = &s->counters[0].finished[s->parity];
    if (n && __atomic_add_fetch(finished, (uint32_t)n, __ATOMIC_SEQ_CST) == s->n_units)
        qr_futex_wake(finished, &s->counters[0].sleepers);
}

/* Returns when all units are finished. The calling thread has taken units until there were none
 * left, so the others are with threads that need not wait for it. */
static inline void qr_work_steal_wait(const struct qr_work_steal *s)
{
    uint32_t *finished = &s->counters[0].finished[s->parity];
    for (uint32_t n; (n = __atomic_load_n(finished, __ATOMIC_ACQUIRE)) != s->n_units;)
        qr_futex_wait_adaptive(finished, n, &s->counters[0].sleepers, &s->team.barrier->spin_shift,
                               qr_team_is_crowded(s->team.barrier, s->team.size));
}

#endif
