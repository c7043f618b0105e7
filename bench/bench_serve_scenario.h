/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_scenario.h - the streams of requests behind --scenario, and their own figures. */
#ifndef QUIRE_BENCH_BENCH_SERVE_SCENARIO_H
#define QUIRE_BENCH_BENCH_SERVE_SCENARIO_H
#include "bench_serve_play.h"
#include "bench_table.h"

struct serve_scenario;

/* The scenario of o->scenario, or the default stream. NULL: unknown, with a message on stderr. */
const struct serve_scenario *serve_scenario_find(const struct bench_options *o);

/* Makes the requests of o->trace, or of the scenario with the options that override it. Sets
 * *max_seqs to o->max_seqs or, without it, to the users of a scenario that has more than the engine
 * runs by default. Returns 0, or an exit code with a message on stderr. */
int serve_scenario_workload(const struct serve_scenario *s, const struct bench_options *o,
                            struct workload *w, uint32_t *max_seqs);

/* Prints the table of the scenario, if it has one; for batch1 measures the model at `model_path`
 * without the engine first. Returns 0, or an exit code with a message on stderr. */
int serve_scenario_report(const struct serve_scenario *s, const struct bench_options *o,
                          const struct workload *w, const struct serve_log *log,
                          const char *model_path, struct bench_table *t);

#endif
