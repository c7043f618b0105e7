/* SPDX-License-Identifier: Apache-2.0 */
/* bench_team.h - cost of a barrier and of a parallel region. */
#ifndef QUIRE_BENCH_BENCH_TEAM_H
#define QUIRE_BENCH_BENCH_TEAM_H
#include "bench_table.h"

/* Prints a table of barrier and region costs of each thread backend and of plain OpenMP, per
 * thread count. */
int bench_team_table(struct bench_table *t, const struct bench_options *o,
                     const struct bench_list *threads);

#endif
