/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - the pieces of a stage shared out among a team: every member has an equal run of them, and helps the others
 * when it is through with its own. Who does a piece must not show in the result. */
#ifndef QR_BASE_WORK_STEAL_H
#define QR_BASE_WORK_STEAL_H
#include "base/team.h"
#include <quire/threads.h>
#include <stdbool.h>
#include <stddef.h>

/* One member's counters. Stages take turns with two of them: while one is in use, the other is made ready for the next
 * stage, and nobody looks at it. */
struct qr_share_line {
    _Alignas(64) uint32_t next[2]; /* pieces of the member's run that were given out, or more */
    uint32_t stage;                /* the member's own */
};

struct qr_share {
    struct qr_share_line *lines;
    struct quire_team team;
    uint32_t n, set;
    uint32_t helped; /* the run that pieces come from: rank + helped */
};

/* Begins a stage of n pieces. lines[team->size] are zero before the team's first stage; all members take part in the
 * same stages, with a barrier between one and the next. */
static inline struct qr_share qr_share_begin(struct qr_share_line *lines,
                                             const struct quire_team *team, size_t n)
{
    struct qr_share_line *own = &lines[team->rank];
    const uint32_t set = own->stage++ % 2;
    __atomic_store_n(&own->next[!set], 0, __ATOMIC_RELAXED);
    return (struct qr_share){ .lines = lines, .team = *team, .n = (uint32_t)n, .set = set };
}

/* Takes a piece; false when there are none left. */
static inline bool qr_share_next(struct qr_share *s, size_t *piece)
{
    for (; s->helped < s->team.size; s->helped++) {
        const uint32_t whose = (s->team.rank + s->helped) % s->team.size;
        const uint32_t begin = (uint32_t)((uint64_t)s->n * whose / s->team.size),
                       end = (uint32_t)((uint64_t)s->n * (whose + 1) / s->team.size);
        uint32_t *next = &s->lines[whose].next[s->set];
        /* look first: a counter that has run out is not written to any more */
        if (__atomic_load_n(next, __ATOMIC_RELAXED) >= end - begin)
            continue;
        const uint32_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
        if (i < end - begin) {
            *piece = begin + i;
            return true;
        }
    }
    return false;
}

#endif
