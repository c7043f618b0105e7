/* SPDX-License-Identifier: Apache-2.0 */
/* bench_measure.h - time of a workload, and its fraction of the roofline.
 *
 * Clock frequency and memory bandwidth of a shared machine drift within seconds, so a limit
 * measured once does not hold a minute later. Rounds are interleaved, probe - work - probe, and
 * the fraction of the roofline is taken per round, against the faster of the two probes. A round
 * with a preemption includes time of another process and is repeated. Calls longer than a
 * scheduler time slice are preempted in every round; such rounds count with the CPU time of the
 * busiest thread. */
#ifndef QUIRE_BENCH_BENCH_MEASURE_H
#define QUIRE_BENCH_BENCH_MEASURE_H
#include "bench_machine.h"

/* The work to measure. need[BENCH_READ]: bytes read from memory; the other entries: operations.
 * The roofline limit is max(time of the bytes, sum of the times of the operations). */
struct bench_work {
    quire_status (*run)(void *arg, struct quire_error *err);
    void *arg;
    double need[BENCH_ROOFS];
};

struct bench_timing {
    struct bench_summary seconds; /* of one call */
    double fraction;              /* of the roofline: median of limit / time */
    const char *limit;            /* binding roof: "read", "f32", "bf16", "int8" */
    unsigned rounds;              /* that the figures summarize */
    bool cpu_time;                /* too few rounds without preemption: some count with CPU time */
};

/* Rounds of a measurement: -r, else 3 with --quick, else `dflt`. */
unsigned bench_repetitions(const struct bench_options *o, unsigned dflt);

/* Measures `rounds` rounds of about 1 ms each. Returns the status of the work. */
quire_status bench_measure(struct bench_machine *m, const struct bench_options *o,
                           const struct bench_work *work, unsigned rounds, struct bench_timing *out,
                           struct quire_error *err);

/* The steps of bench_measure(), for callers with their own rounds. */

/* Probes each roof that contributes to the limit of the work. Returns the limit in seconds;
 * *name (may be NULL) gets the binding roof. */
double bench_limit(struct bench_machine *m, const struct bench_work *work, const char **name);

struct bench_rounds {
    struct bench_samples seconds, fractions;
};
/* Rounds measured so far. */
struct bench_record {
    struct bench_rounds clean, all; /* clean: without preemption */
};
void bench_record_add(struct bench_record *r, double seconds, double limit, bool preempted);
/* Summarizes the rounds in all members of *out but out->limit. */
void bench_record_result(const struct bench_record *r, struct bench_timing *out);

struct bench_stopwatch {
    double start;
    long preemptions;
};
void bench_stopwatch_start(struct bench_machine *m, struct bench_stopwatch *w);
/* Returns the seconds since the start. If a thread was preempted meanwhile, sets *preempted and
 * returns the CPU time of the busiest thread. */
double bench_stopwatch_stop(struct bench_machine *m, const struct bench_stopwatch *w,
                            bool *preempted);

#endif
