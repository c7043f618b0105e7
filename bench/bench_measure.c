/* SPDX-License-Identifier: Apache-2.0 */
/* bench_measure.c - rounds of probe and work, on a machine that others use as well. */
#include "bench_measure.h"
#include <math.h>

/* Clean rounds that suffice; tries for a clean one before each probe, and seconds that may be spent on all of them. */
enum { MIN_CLEAN = 3, TRIES = 20 };
static const double max_seconds = 1;

unsigned bench_repetitions(const struct bench_options *o, unsigned dflt)
{
    const unsigned n = o->reps ? o->reps : o->quick ? 3 : dflt;
    return n < BENCH_MAX_SAMPLES ? n : BENCH_MAX_SAMPLES;
}

/* ---- the stopwatch */

static void start_part(void *arg, const struct quire_team *team)
{
    struct bench_machine *m = arg;
    m->cpu_seconds[quire_team_rank(team)] = bench_cpu_now();
}

static void stop_part(void *arg, const struct quire_team *team)
{
    struct bench_machine *m = arg;
    m->seconds[quire_team_rank(team)] = bench_cpu_now() - m->cpu_seconds[quire_team_rank(team)];
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

void bench_record_add(struct bench_record *r, double seconds, double limit, bool disturbed)
{
    bench_sample(&r->all.seconds, seconds);
    bench_sample(&r->all.fractions, limit / seconds);
    if (disturbed)
        return;
    bench_sample(&r->clean.seconds, seconds);
    bench_sample(&r->clean.fractions, limit / seconds);
}

void bench_record_result(const struct bench_record *r, struct bench_timing *out)
{
    out->cpu_time = r->clean.seconds.n < MIN_CLEAN && r->clean.seconds.n < r->all.seconds.n;
    const struct bench_rounds *use = out->cpu_time ? &r->all : &r->clean;
    out->seconds = bench_summarise(&use->seconds);
    out->fraction = bench_summarise(&use->fractions).median;
    out->rounds = use->seconds.n;
}

/* Calls of the work that fill a round, by the fastest of a few, which also warm up. */
static quire_status calls_per_round(const struct bench_options *o, const struct bench_work *work,
                                    unsigned *calls, struct quire_error *err)
{
    const double round_seconds = o->quick ? 0.3e-3 : 1e-3;
    double fastest = 1;
    quire_status s = QUIRE_OK;
    for (int i = 0; i < 4 && s == QUIRE_OK; i++) {
        const double start = bench_now();
        s = work->run(work->arg, err);
        const double t = bench_now() - start;
        fastest = t < fastest ? t : fastest;
        if (t > 10 * round_seconds)
            break;
    }
    *calls = (unsigned)(round_seconds / (fastest > 1e-7 ? fastest : 1e-7)) + 1;
    return s;
}

/* Runs the work for one round, again while another process comes between. Seconds of a call. */
static quire_status one_round(struct bench_machine *m, const struct bench_work *work,
                              unsigned calls, unsigned tries, double *seconds, bool *disturbed,
                              struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    *disturbed = true;
    for (unsigned i = 0; i < tries && *disturbed && s == QUIRE_OK; i++) {
        struct bench_watch watch;
        bench_start(m, &watch);
        for (unsigned k = 0; k < calls && s == QUIRE_OK; k++)
            s = work->run(work->arg, err);
        *seconds = bench_stop(m, &watch, disturbed) / calls;
    }
    return s;
}

quire_status bench_measure(struct bench_machine *m, const struct bench_options *o,
                           const struct bench_work *work, unsigned rounds, struct bench_timing *out,
                           struct quire_error *err)
{
    struct bench_record record = { 0 };
    unsigned calls;
    quire_status s = calls_per_round(o, work, &calls, err);
    double before = bench_limit(m, work, &out->limit);
    const double start = bench_now();
    while (record.all.seconds.n < rounds && s == QUIRE_OK) {
        double seconds;
        bool disturbed;
        const unsigned tries = bench_now() - start < max_seconds ? TRIES : 1;
        s = one_round(m, work, calls, tries, &seconds, &disturbed, err);
        const double after = bench_limit(m, work, &out->limit);
        bench_record_add(&record, seconds, fmin(before, after), disturbed);
        before = after;
    }
    bench_record_result(&record, out);
    return s;
}
