/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - the members of a thread team and their barrier. */
#ifndef QR_BASE_TEAM_H
#define QR_BASE_TEAM_H
#include <quire/threads.h>
#include <stdbool.h>
#include <stdint.h>

/* Reusable barrier of one team: bounded spin, then futex sleep. Zero but for n_cpus before the
 * first use; all members of a run use it with the same team size. */
struct qr_barrier {
    _Alignas(64) uint32_t arrived;
    _Alignas(64) uint32_t phase;
    uint32_t sleepers;   /* threads in futex sleep on phase */
    uint32_t spin_shift; /* log2 of the adaptive spin budget, see futex.h */
    uint32_t n_cpus;     /* of the process; 0: enough for the team */
    /* one cache line per cluster of a large team */
    _Alignas(64) uint32_t clusters[16][16];
};

/* Whether members of a team wait for the CPUs of others. */
static inline bool qr_team_is_crowded(const struct qr_barrier *b, uint32_t size)
{
    return b->n_cpus && size > b->n_cpus;
}

struct quire_team {
    uint32_t rank;              /* 0 .. size - 1 */
    uint32_t size;              /* members, >= 1 */
    struct qr_barrier *barrier; /* shared by the members, borrowed; may be NULL when size is 1 */
};

#endif
