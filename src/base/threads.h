/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - running parts, and dividing a range among the threads of a team. */
#ifndef QR_BASE_THREADS_H
#define QR_BASE_THREADS_H
#include "base/team.h"
#include <quire/threads.h>
#include <stddef.h>

/* A function that every thread of a team calls with the same arg. */
typedef void qr_part_fn(void *arg, const struct quire_team *team);

/* Calls part in the library's floating-point environment (base/fp_env.h). */
void qr_part_call(qr_part_fn *part, void *arg, const struct quire_team *team);

/* quire_threads_run with a message. threads NULL: the calling thread alone runs the part. */
quire_status qr_part_run(struct quire_threads *threads, qr_part_fn *part, void *arg,
                         struct quire_error *err);

/* The same on the members 0 .. n - 1; threads NULL: n is 1. */
quire_status qr_part_run_n(struct quire_threads *threads, uint32_t n, qr_part_fn *part, void *arg,
                           struct quire_error *err);

/* Splits [0, n) into consecutive ranges by rank, in multiples of `grain`: only the last non-empty
 * range can end off a multiple, at n. */
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
