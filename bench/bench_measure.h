/* SPDX-License-Identifier: Apache-2.0 */
/* bench_measure.h - how long work takes, and how near that is to what the machine can do.
 *
 * The machine is shared, and its clock and memory bandwidth drift within seconds, so a limit measured once is no limit
 * for what is measured a minute later. Every round of a measurement is probe - work - probe, and the fraction of the
 * roofline is taken round by round, against the faster of the two probes. A round in which another process was given one
 * of our processors would measure
 * that process: such rounds are repeated. Where that does not help, because calls last longer than the scheduler lets
 * anyone run, they count by the processor time of our busiest thread. */
#ifndef QUIRE_BENCH_BENCH_MEASURE_H
#define QUIRE_BENCH_BENCH_MEASURE_H
#include "bench_machine.h"

/* A piece of work. need[BENCH_READ] bytes must come from memory; the other needs are operations. Its limit is the
 * larger of the time for the bytes and the sum of the times for the operations. */
struct bench_work {
    quire_status (*run)(void *arg, struct quire_error *err);
    void *arg;
    double need[BENCH_ROOFS];
};

struct bench_timing {
    struct bench_summary seconds; /* of one call */
    double fraction;              /* median of limit / time */
    const char *limit;            /* which roof: "read", "f32", "bf16", "int8" */
    unsigned rounds;              /* that the figures are made of */
    bool cpu_time; /* too few rounds were free of neighbours: some count by processor time */
};

/* Rounds of a measurement: -r, or the default, or a few with --quick. */
unsigned bench_repetitions(const struct bench_options *o, unsigned dflt);

/* Each round is as many calls as take about a millisecond. Returns the work's status where it fails. */
quire_status bench_measure(struct bench_machine *m, const struct bench_options *o,
                           const struct bench_work *work, unsigned rounds, struct bench_timing *out,
                           struct quire_error *err);

/* The same in steps, for callers with rounds of their own. One probe of each roof that the work comes near gives its
 * limit in seconds, and the name of the roof that makes it (may be NULL). */
double bench_limit(struct bench_machine *m, const struct bench_work *work, const char **name);

struct bench_watch {
    double start;
    long preempted;
};
/* Rounds so far: those that no other process disturbed, and all. */
struct bench_rounds {
    struct bench_samples seconds, fractions;
};
struct bench_record {
    struct bench_rounds clean, all;
};
void bench_record_add(struct bench_record *r, double seconds, double limit, bool disturbed);
/* Everything but out->limit. */
void bench_record_result(const struct bench_record *r, struct bench_timing *out);

void bench_start(struct bench_machine *m, struct bench_watch *w);
/* Seconds since the start. *disturbed: another process had a processor of ours meanwhile, and what is returned is the
 * processor time of the busiest member of the team. */
double bench_stop(struct bench_machine *m, const struct bench_watch *w, bool *disturbed);

#endif
