/* SPDX-License-Identifier: Apache-2.0 */
/* bench_measure.c - rounds of probe and work, on a machine that others use as well. */
#include "bench_measure.h"
#include <time.h>

/* Clean rounds that suffice, and how many rounds and seconds may be spent to get as many as were asked for. */
enum { MIN_CLEAN = 3, MAX_TRIES = 8 };
static const double max_seconds = 1;

unsigned bench_rounds(const struct bench_options *o, unsigned dflt)
{
    const unsigned n = o->reps ? o->reps : o->quick ? 3 : dflt;
    return n < BENCH_MAX_SAMPLES ? n : BENCH_MAX_SAMPLES;
}

/* ---- the stopwatch */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start_part(void *arg, const struct quire_team *team)
{
    struct bench_machine *m = arg;
    m->cpu_seconds[team->rank] = cpu_seconds();
}

static void stop_part(void *arg, const struct quire_team *team)
{
    struct bench_machine *m = arg;
    m->seconds[team->rank] = cpu_seconds() - m->cpu_seconds[team->rank];
}

void bench_start(struct bench_machine *m, struct bench_watch *w)
{
    if (quire_threads_run(m->threads, start_part, m) != QUIRE_OK)
        m->cpu_seconds[0] = 0;
    w->preempted = bench_preemptions();
    w->start = bench_now();
}

double bench_stop(struct bench_machine *m, const struct bench_watch *w, bool *disturbed)
{
    const double wall = bench_now() - w->start;
    double busiest = 0;
    *disturbed = bench_preemptions() != w->preempted;
    if (!*disturbed || quire_threads_run(m->threads, stop_part, m) != QUIRE_OK)
        return wall;
    for (uint32_t i = 0; i < m->n_threads; i++)
        busiest = m->seconds[i] > busiest ? m->seconds[i] : busiest;
    return busiest < wall ? busiest : wall;
}

/* ---- limits */

/* Limit by the rates of the latest probes, and the roof that makes it. */
static double limit_now(const struct bench_machine *m, const struct bench_work *w,
                        enum bench_roof *which)
{
    double compute = 0, largest = 0;
    *which = BENCH_READ;
    for (int roof = 0; roof < BENCH_READ; roof++) {
        const double t = w->need[roof] / m->rate[roof];
        compute += t;
        if (t > largest) {
            largest = t;
            *which = roof;
        }
    }
    const double read = w->need[BENCH_READ] / m->rate[BENCH_READ];
    if (read < compute)
        return compute;
    *which = BENCH_READ;
    return read;
}

double bench_limit(struct bench_machine *m, const struct bench_work *work, const char **name)
{
    static const char *const names[] = { "f32", "bf16", "int8", "read" };
    enum bench_roof which;
    const double before = limit_now(m, work, &which);
    /* a roof far from binding is not worth a probe */
    for (int roof = 0; roof < BENCH_ROOFS; roof++)
        if (work->need[roof] / m->rate[roof] > 0.2 * before)
            (void)bench_probe(m, roof);
    const double limit = limit_now(m, work, &which);
    if (name)
        *name = names[which];
    return limit;
}

/* ---- rounds */

struct rounds {
    struct bench_samples seconds, fractions;
};

static void add_round(struct rounds *r, double seconds, double limit)
{
    bench_sample(&r->seconds, seconds);
    bench_sample(&r->fractions, limit / seconds);
}

/* Calls of the work that fill a round. */
static quire_status calls_per_round(const struct bench_options *o, const struct bench_work *work,
                                    unsigned *calls, struct quire_error *err)
{
    const double round_seconds = o->quick ? 0.5e-3 : 2e-3, start = bench_now();
    const quire_status s = work->run(work->arg, err); /* also warms up */
    const double once = bench_now() - start;
    *calls = once < round_seconds ? (unsigned)(round_seconds / (once > 1e-7 ? once : 1e-7)) + 1 : 1;
    return s;
}

quire_status bench_measure(struct bench_machine *m, const struct bench_options *o,
                           const struct bench_work *work, unsigned rounds, struct bench_timing *out,
                           struct quire_error *err)
{
    struct rounds clean = { 0 }, all = { 0 };
    unsigned calls;
    quire_status s = calls_per_round(o, work, &calls, err);
    double before = bench_limit(m, work, &out->limit), spent = 0;
    for (unsigned i = 0; i < MAX_TRIES * rounds && s == QUIRE_OK; i++) {
        struct bench_watch watch;
        bool disturbed;
        if (clean.seconds.n >= rounds || (all.seconds.n >= rounds && spent > max_seconds))
            break;
        bench_start(m, &watch);
        for (unsigned k = 0; k < calls && s == QUIRE_OK; k++)
            s = work->run(work->arg, err);
        const double t = bench_stop(m, &watch, &disturbed),
                     after = bench_limit(m, work, &out->limit);
        spent += bench_now() - watch.start;
        add_round(&all, t / calls, 0.5 * (before + after));
        if (!disturbed)
            add_round(&clean, t / calls, 0.5 * (before + after));
        before = after;
    }
    out->cpu_time = clean.seconds.n < MIN_CLEAN && clean.seconds.n < all.seconds.n;
    const struct rounds *use = out->cpu_time ? &all : &clean;
    out->seconds = bench_summarise(&use->seconds);
    out->fraction = bench_summarise(&use->fractions).median;
    out->rounds = use->seconds.n;
    return s;
}
