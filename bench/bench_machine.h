/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine.h - a team of threads and what the machine gives it: probes, and measuring against them.
 *
 * The machine is shared and its clock and memory bandwidth drift within seconds, so a limit measured once is no limit
 * for what is measured a minute later. Every round of a measurement is probe - work - probe, and the fraction of the
 * roofline is taken round by round. A round in which the kernel gave one of our processors to another process is
 * repeated: it would measure the neighbour. */
#ifndef QUIRE_BENCH_BENCH_MACHINE_H
#define QUIRE_BENCH_BENCH_MACHINE_H
#include "bench.h"
#include "bench_stats.h"
#include "isa/peak.h"

enum bench_roof {
    BENCH_F32,
    BENCH_BF16,
    BENCH_INT8,
    BENCH_READ,
    BENCH_ROOFS
}; /* READ: memory, in bytes */

struct bench_machine {
    struct quire_threads *threads;
    uint32_t n_threads;
    const char *level;
    const struct bench_peak_kernel *peak[BENCH_READ]; /* by enum bench_roof */
    void (*read)(const void *p, size_t bytes);
    size_t iterations[BENCH_READ]; /* of a probe: about a millisecond */
    uint8_t *stream;               /* several times the last cache */
    size_t stream_bytes, cursor;
    double *seconds;          /* [n_threads] of a probe */
    double rate[BENCH_ROOFS]; /* of the latest probe: operations or bytes per second */
};

/* Opens a team of n_threads at o->isa. On failure prints why; returns the exit code. */
int bench_machine_open(struct bench_machine *m, const struct bench_options *o, uint32_t n_threads);
void bench_machine_close(struct bench_machine *m);

/* Kernel of a level for a roof (not READ), or its read loop: its own or that of the level below. */
const struct bench_peak_kernel *bench_peak_find(const char *level, enum bench_roof roof);
void (*bench_read_find(const char *level))(const void *p, size_t bytes);

/* Bytes of a cache level (1..3) as one core sees it, 0 = unknown. */
size_t bench_cache_bytes(int level);
/* What must be touched between two uses of a buffer for it to come from memory. */
size_t bench_cold_bytes(const struct bench_options *o);

/* How often this process had to give up a processor so far. */
long bench_preemptions(void);

/* Lets all members of a team start at once: none sleeps, so all have a processor when the clock starts. One that sleeps
 * in a barrier may start late and have the memory for itself. *here is 0 before the first one comes. */
void bench_rendezvous(uint32_t *here, const struct quire_team *team);

/* One probe, about a millisecond (READ: a few): operations or bytes per second of the whole team. */
double bench_probe(struct bench_machine *m, enum bench_roof roof);

/* A piece of work. need[BENCH_READ] bytes must come from memory; the other needs are operations. Its limit is the
 * larger of the time for the bytes and the sum of the times for the operations. */
struct bench_work {
    quire_status (*run)(void *arg, struct quire_error *err);
    void *arg;
    double need[BENCH_ROOFS];
    bool once; /* one call per round, however short; else as many as fill the round */
};

struct bench_timing {
    struct bench_summary seconds; /* of one call */
    double fraction;              /* median of limit / time */
    double
        best_fraction; /* shortest limit / shortest time: what is left of the noise when all rounds have some */
    const char *limit; /* which roof: "read", "f32", "bf16", "int8" */
    unsigned rounds;   /* that the figures are made of */
    bool disturbed;    /* too few rounds were free of neighbours; the figures are of all of them */
};

/* Rounds of a measurement: -r, or the default, or a few with --quick. */
unsigned bench_rounds(const struct bench_options *o, unsigned dflt);
/* The work's status where it fails. */
quire_status bench_measure(struct bench_machine *m, const struct bench_options *o,
                           const struct bench_work *work, unsigned rounds, struct bench_timing *out,
                           struct quire_error *err);

/* The same in steps, for callers that interleave: one probe of what the work needs gives its limit in seconds. */
double bench_limit(struct bench_machine *m, const struct bench_work *work, const char **name);

#endif
