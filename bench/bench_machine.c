/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine.c - pinned threads, and probes of their compute and bandwidth limits. */
#include "bench_machine.h"
#include "kernels/cpu.h"
#include "kernels/dispatch.h"
#include <math.h>
#include <quire/cpu.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- ISA levels */

static const struct bench_peak *const peaks[] = {
#define PEAK(level) &bench_peak_##level,
#include "peak_levels.inc"
#undef PEAK
};

static int level_rank(const char *level)
{
    for (int i = 0; quire_cpu_level_name(i); i++)
        if (!strcmp(quire_cpu_level_name(i), level))
            return i;
    return -1;
}

/* Whether the instruction of a level is slower on this CPU than those of the level below. The
 * kernel dispatch avoids it on the same condition. */
static bool is_slow(const char *level, enum bench_roof roof)
{
    return roof == BENCH_BF16 && !strcmp(level, "avx512_bf16") && qr_cpu_slow_vdpbf16ps();
}

const struct bench_peak_kernel *bench_peak_find(const char *level, enum bench_roof roof)
{
    const struct bench_peak_kernel *best = NULL;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        if (is_slow(peaks[i]->level, roof))
            continue;
        const struct bench_peak_kernel *k = roof == BENCH_F32    ? &peaks[i]->f32
                                            : roof == BENCH_BF16 ? &peaks[i]->bf16
                                                                 : &peaks[i]->int8;
        if (k->run && level_rank(peaks[i]->level) <= level_rank(level))
            best = k;
    }
    return best;
}

enum bench_roof bench_native_roof(const char *level)
{
    const struct qr_kernels *k;
    const bool widened = qr_kernels_get(level, &k, NULL) == QUIRE_OK && k->native_bf16_reads_f32;
    return widened ? BENCH_F32 : BENCH_BF16;
}

void (*bench_read_find(const char *level))(const void *p, size_t bytes)
{
    void (*best)(const void *, size_t) = NULL;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        if (peaks[i]->read && level_rank(peaks[i]->level) <= level_rank(level))
            best = peaks[i]->read;
    return best;
}

/* ---- cache sizes */

/* Reads a sysfs attribute of cache `index` of CPU 0. Returns false when there is none. */
static bool cache_attribute(int index, const char *name, char *out, int size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *f = fopen(path, "r");
    const bool ok = f && fgets(out, size, f);
    if (f)
        fclose(f);
    return ok;
}

/* sysconf() is the fallback: in a virtual machine it may report the cache of the whole socket. */
size_t bench_cache_bytes(int level)
{
    static const int names[] = { 0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE };
    char text[32];
    if (level < 1 || level > 3)
        return 0;
    for (int i = 0; cache_attribute(i, "level", text, sizeof text); i++)
        if (text[0] == '0' + level && cache_attribute(i, "type", text, sizeof text) &&
            text[0] != 'I' && cache_attribute(i, "size", text, sizeof text))
            return strtoul(text, NULL, 10) << (strchr(text, 'M') ? 20 : strchr(text, 'K') ? 10 : 0);
    const long bytes = sysconf(names[level]);
    return bytes > 0 ? (size_t)bytes : 0;
}

enum { LEAST_COLD_MIB = 16 }; /* the stream of the probe is eight huge pages or more */

size_t bench_cold_bytes(const struct bench_options *o)
{
    const size_t last = bench_cache_bytes(3), least = (size_t)128 << 20;
    if (o->cold)
        return (size_t)o->cold << 20;
    if (o->quick)
        return (size_t)LEAST_COLD_MIB << 20;
    return 4 * last > least ? 4 * last : least;
}

/* ---- probes */

enum { HUGE_PAGE = 2 << 20, READ_UNIT = 512 };

struct probe {
    struct bench_machine *m;
    const struct bench_peak_kernel *peak; /* NULL: read */
    size_t iterations;
    const uint8_t *from;
    size_t bytes; /* per thread */
    uint32_t arrived;
    bool cpu_time; /* CPU time of each thread in place of wall time */
};

void bench_spin_barrier(uint32_t *arrived, const struct quire_team *team)
{
    __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < quire_team_size(team))
        ;
}

static void probe_part(void *arg, const struct quire_team *team)
{
    struct probe *p = arg;
    bench_spin_barrier(&p->arrived, team);
    const double start = p->cpu_time ? bench_cpu_now() : bench_now();
    if (p->peak)
        p->peak->run(p->iterations);
    else
        p->m->read(p->from + quire_team_rank(team) * p->bytes, p->bytes);
    p->m->seconds[quire_team_rank(team)] = (p->cpu_time ? bench_cpu_now() : bench_now()) - start;
}

long bench_preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static double probe_once(struct bench_machine *m, enum bench_roof roof, bool cpu_time)
{
    struct probe p = { .m = m, .cpu_time = cpu_time };
    double amount, rate = 0;
    if (roof == BENCH_READ) {
        /* eight probes cover the buffer, so that no probe hits the cache */
        p.bytes = m->stream_bytes / 8 / m->n_threads / READ_UNIT * READ_UNIT;
        p.from = m->stream + m->cursor;
        m->cursor = (m->cursor + m->stream_bytes / 8) % m->stream_bytes;
        amount = (double)p.bytes;
    } else {
        p.peak = m->peak[roof];
        p.iterations = m->iterations[roof];
        amount = p.peak->ops * (double)p.iterations;
    }
    if (quire_threads_run(m->threads, probe_part, &p) != QUIRE_OK)
        return NAN;
    for (uint32_t i = 0; i < m->n_threads; i++)
        rate += amount / m->seconds[i];
    return rate;
}

double bench_probe(struct bench_machine *m, enum bench_roof roof)
{
    enum { TRIES = 4 };
    for (int i = 0; i < TRIES; i++) {
        const long before = bench_preemptions();
        m->rate[roof] = probe_once(m, roof, false);
        if (bench_preemptions() == before)
            return m->rate[roof];
    }
    return m->rate[roof] = probe_once(m, roof, true);
}

/* ---- threads */

static void pin_part(void *arg, const struct quire_team *team)
{
    const cpu_set_t *allowed = arg;
    uint32_t nth = quire_team_rank(team);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && nth-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

void bench_pin(struct quire_threads *threads, struct bench_pinning *p)
{
    p->pinned = sched_getaffinity(0, sizeof p->allowed, &p->allowed) == 0 &&
                (uint32_t)CPU_COUNT(&p->allowed) >= quire_threads_count(threads) &&
                quire_threads_run(threads, pin_part, &p->allowed) == QUIRE_OK;
}

void bench_unpin(struct bench_pinning *p)
{
    if (p->pinned)
        sched_setaffinity(0, sizeof p->allowed, &p->allowed);
    p->pinned = false;
}

static void touch_part(void *arg, const struct quire_team *team)
{
    struct bench_machine *m = arg;
    const size_t share = m->stream_bytes / quire_team_size(team);
    memset(m->stream + quire_team_rank(team) * share, 1, share);
}

static int open_stream(struct bench_machine *m, const struct bench_options *o)
{
    m->stream_bytes = 2 * bench_cold_bytes(o) / ((size_t)8 * HUGE_PAGE) * 8 * HUGE_PAGE;
    m->stream = aligned_alloc(HUGE_PAGE, m->stream_bytes);
    if (!m->stream || !m->seconds || !m->cpu_seconds)
        return bench_error(75, "no memory for a buffer of %zu bytes", m->stream_bytes);
    madvise(m->stream, m->stream_bytes, MADV_HUGEPAGE);
    return quire_threads_run(m->threads, touch_part, m) == QUIRE_OK ? 0 : 70;
}

/* Finds the number of iterations that takes about 1 ms. The first runs also power up the vector
 * units. */
static void calibrate(struct bench_machine *m, enum bench_roof roof)
{
    size_t n = 256;
    for (double t = 0; t < 0.5e-3; n *= 2) {
        const double start = bench_now();
        m->peak[roof]->run(n);
        t = bench_now() - start;
    }
    m->iterations[roof] = n;
}

int bench_machine_open(struct bench_machine *m, const struct bench_options *o, uint32_t n_threads)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params params;
    const struct qr_kernels *kernels;
    *m = (struct bench_machine){ 0 };
    if (o->cold && o->cold < LEAST_COLD_MIB)
        return bench_error(64, "--cold %u: at least %d", o->cold, LEAST_COLD_MIB);
    quire_status s = qr_kernels_get(o->isa, &kernels, &err);
    if (s != QUIRE_OK)
        return bench_fail("--isa", s, &err);
    quire_threads_params_init(&params, sizeof params);
    params.n_threads = n_threads;
    s = quire_threads_create(&params, &m->threads, &err);
    if (s != QUIRE_OK)
        return bench_fail("threads", s, &err);
    m->n_threads = quire_threads_count(m->threads);
    if (!o->peer) /* child processes inherit the affinity */
        bench_pin(m->threads, &m->pinning);
    m->level = kernels->level;
    m->seconds = calloc(m->n_threads, sizeof *m->seconds);
    m->cpu_seconds = calloc(m->n_threads, sizeof *m->cpu_seconds);
    m->read = bench_read_find(m->level);
    for (int roof = 0; roof < BENCH_READ; roof++) {
        m->peak[roof] = bench_peak_find(m->level, roof);
        calibrate(m, roof);
    }
    const int code = open_stream(m, o);
    if (code)
        return bench_machine_close(m), code;
    for (int roof = 0; roof < BENCH_ROOFS; roof++)
        (void)bench_probe(m, roof);
    return 0;
}

void bench_machine_close(struct bench_machine *m)
{
    bench_unpin(&m->pinning);
    quire_threads_destroy(m->threads);
    free(m->stream), free(m->seconds), free(m->cpu_seconds);
    *m = (struct bench_machine){ 0 };
}
