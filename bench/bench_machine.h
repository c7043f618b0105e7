/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine.h - a team of threads and probes of what the machine gives it; bench_measure.h holds work
 * against them. */
#ifndef QUIRE_BENCH_BENCH_MACHINE_H
#define QUIRE_BENCH_BENCH_MACHINE_H
#include "bench.h"
#include "bench_stats.h"
#include "isa/peak.h"
#include <sched.h>

enum bench_roof {
    BENCH_F32,
    BENCH_BF16,
    BENCH_INT8,
    BENCH_READ, /* from memory, in bytes */
    BENCH_ROOFS
};

/* Each member of a team on a processor of its own, where there are enough: a scheduler that puts two of them on one
 * makes every barrier a wait. The calling thread is member 0; unpin lets it run where it could before. */
struct bench_pinning {
    cpu_set_t allowed;
    bool pinned;
};
void bench_pin(struct quire_threads *threads, struct bench_pinning *p);
void bench_unpin(struct bench_pinning *p);

struct bench_machine {
    struct bench_pinning pinning;
    struct quire_threads *threads;
    uint32_t n_threads;
    const char *level;
    const struct bench_peak_kernel *peak[BENCH_READ]; /* by enum bench_roof */
    void (*read)(const void *p, size_t bytes);
    size_t iterations[BENCH_READ]; /* of a probe: about a millisecond */
    uint8_t *stream;               /* several times the last cache */
    size_t stream_bytes, cursor;
    double *seconds;          /* [n_threads] of a probe */
    double *cpu_seconds;      /* [n_threads] processor time when a stopwatch started */
    double rate[BENCH_ROOFS]; /* of the latest probe: operations or bytes per second */
};

/* Opens a team of n_threads at o->isa. On failure prints why; returns the exit code. */
int bench_machine_open(struct bench_machine *m, const struct bench_options *o, uint32_t n_threads);
void bench_machine_close(struct bench_machine *m);

/* Kernel of a level for a roof (not READ), or its read loop: its own or that of the level below. Where vdpbf16ps is slower
 * than two multiply-adds, as the dispatch knows, the limit is theirs. */
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

#endif
