/* SPDX-License-Identifier: Apache-2.0 */
/* bench_team.h - what it costs to start a team and to let it meet. */
#ifndef QUIRE_BENCH_BENCH_TEAM_H
#define QUIRE_BENCH_BENCH_TEAM_H
#include "bench_table.h"

/* Prints a table of barrier and region costs, ours and the OpenMP runtime's, for each thread count. */
int bench_team_table(struct bench_table *t, const struct bench_options *o,
                     const struct bench_list *threads);

#endif
