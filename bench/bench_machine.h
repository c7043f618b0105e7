/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine.h - pinned threads, and probes of the compute and bandwidth limits they reach. */
#ifndef QUIRE_BENCH_BENCH_MACHINE_H
#define QUIRE_BENCH_BENCH_MACHINE_H
#include "bench.h"
#include "bench_stats.h"
#include "isa/peak.h"
#include <sched.h>

/* The ceilings of the roofline. */
enum bench_roof {
    BENCH_F32,
    BENCH_BF16,
    BENCH_INT8,
    BENCH_READ, /* DRAM read bandwidth, in bytes */
    BENCH_ROOFS
};

/* CPU affinity of the calling thread before pinning. bench_pin() pins each thread of the team to
 * its own CPU if there are enough: two threads on one CPU turn every barrier into a scheduler
 * wait. The calling thread is rank 0; bench_unpin() restores its affinity. */
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
    size_t iterations[BENCH_READ]; /* of one probe, about 1 ms */
    uint8_t *stream;               /* read buffer, several times the last-level cache */
    size_t stream_bytes, cursor;
    double *seconds;          /* [n_threads] of the latest probe */
    double *cpu_seconds;      /* [n_threads] CPU time when the stopwatch started */
    double rate[BENCH_ROOFS]; /* operations or bytes per second in the latest probe */
};

/* Starts n_threads threads (0 = default) and calibrates the probes of level o->isa. Returns 0,
 * or an exit code with a message on stderr. */
int bench_machine_open(struct bench_machine *m, const struct bench_options *o, uint32_t n_threads);
void bench_machine_close(struct bench_machine *m);

/* Peak kernel of an ISA level for a compute roof (not BENCH_READ). A level without one inherits
 * it from the level below. On CPUs where vdpbf16ps is slower than two FMAs the bf16 roof is that
 * of the FMAs, as in the kernel dispatch. */
const struct bench_peak_kernel *bench_peak_find(const char *level, enum bench_roof roof);
/* Compute roof of bf16 activations times bf16 weights: that of f32 where the kernel of the level
 * reads widened activations. */
enum bench_roof bench_native_roof(const char *level);
/* Read loop of an ISA level, inherited in the same way. */
void (*bench_read_find(const char *level))(const void *p, size_t bytes);

/* Size in bytes of the L1d, L2 or L3 cache of one core, 0 = unknown. */
size_t bench_cache_bytes(int level);
/* Bytes to access between two uses of a buffer so that the second use misses every cache. */
size_t bench_cold_bytes(const struct bench_options *o);

/* Involuntary context switches of this process so far. */
long bench_preemptions(void);

/* Spin barrier without sleep, so that every thread is on a CPU when the clock starts. A thread
 * that sleeps in a barrier may start late and measure the memory bandwidth of fewer threads.
 * Single use: *arrived starts at 0. */
void bench_spin_barrier(uint32_t *arrived, const struct quire_team *team);

/* Runs one probe of about 1 ms (BENCH_READ: a few ms). Returns operations or bytes per second of
 * all threads. */
double bench_probe(struct bench_machine *m, enum bench_roof roof);

#endif
