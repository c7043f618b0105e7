/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - hierarchical barrier of a thread team. */
#include "base/futex.h"
#include "base/team.h"

/* Two-level arrival count. Every increment moves the counter's cache line to another core, so the
 * threads of a large team count in clusters first, each on a line of its own and concurrently. The
 * last thread of a cluster then counts for the cluster on the shared line. */
enum {
    MAX_CLUSTERS =
        sizeof((struct qr_barrier *)0)->clusters / sizeof((struct qr_barrier *)0)->clusters[0],
    MIN_CLUSTER_THREADS = 4,   /* clusters are larger only where there would be too many */
    MIN_TWO_LEVEL_THREADS = 8, /* smaller teams count on the shared line alone */
};

/* Counts an arrival. True for the last of n, which resets the counter for the next barrier. */
static bool arrive(uint32_t *arrived, uint32_t n)
{
    if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) != n)
        return false;
    __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
    return true;
}

/* True for the last thread of the team. */
static bool arrive_in_team(struct qr_barrier *b, const struct quire_team *team)
{
    const uint32_t size = team->size;
    if (size < MIN_TWO_LEVEL_THREADS)
        return arrive(&b->arrived, size);
    const uint32_t per_cluster = size <= MIN_CLUSTER_THREADS * MAX_CLUSTERS
                                     ? MIN_CLUSTER_THREADS
                                     : (size + MAX_CLUSTERS - 1) / MAX_CLUSTERS;
    const uint32_t cluster = team->rank / per_cluster, rest = size - cluster * per_cluster;
    return arrive(b->clusters[cluster], rest < per_cluster ? rest : per_cluster) &&
           arrive(&b->arrived, (size + per_cluster - 1) / per_cluster);
}

void quire_team_barrier(const struct quire_team *team)
{
    if (team->size < 2)
        return;
    struct qr_barrier *b = team->barrier;
    /* the phase cannot change before this thread arrives */
    const uint32_t phase = __atomic_load_n(&b->phase, __ATOMIC_RELAXED);
    if (arrive_in_team(b, team))
        qr_futex_store(&b->phase, phase + 1, &b->sleepers);
    else
        qr_futex_wait_adaptive(&b->phase, phase, &b->sleepers, &b->spin_shift,
                               qr_team_is_crowded(b, team->size));
}
