/* SPDX-License-Identifier: Apache-2.0 */
/* bench_measure.c - interleaved rounds of probes and work on a shared machine. */
#include "bench_measure.h"
#include <math.h>

/* MIN_CLEAN: rounds without preemption that suffice. TRIES: repetitions of a preempted round, as
 * long as the measurement has taken less than max_seconds. */
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

void bench_stopwatch_start(struct bench_machine *m, struct bench_stopwatch *w)
{
    if (quire_threads_run(m->threads, start_part, m) != QUIRE_OK)
        m->cpu_seconds[0] = 0;
    w->preemptions = bench_preemptions();
    w->start = bench_now();
}

double bench_stopwatch_stop(struct bench_machine *m, const struct bench_stopwatch *w,
                            bool *preempted)
{
    const double wall = bench_now() - w->start;
    double busiest = 0;
    *preempted = bench_preemptions() != w->preemptions;
    if (!*preempted || quire_threads_run(m->threads, stop_part, m) != QUIRE_OK)
        return wall;
    for (uint32_t i = 0; i < m->n_threads; i++)
        busiest = m->seconds[i] > busiest ? m->seconds[i] : busiest;
    return busiest < wall ? busiest : wall;
}

/* ---- limits */

/* Roofline limit in seconds at the rates of the latest probes; *which gets the binding roof. */
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
    /* skip probes of roofs that contribute less than 20 % */
    for (int roof = 0; roof < BENCH_ROOFS; roof++)
        if (work->need[roof] / m->rate[roof] > 0.2 * before)
            (void)bench_probe(m, roof);
    const double limit = limit_now(m, work, &which);
    if (name)
        *name = names[which];
    return limit;
}

/* ---- rounds */

void bench_record_add(struct bench_record *r, double seconds, double limit, bool preempted)
{
    bench_sample(&r->all.seconds, seconds);
    bench_sample(&r->all.fractions, limit / seconds);
    if (preempted)
        return;
    bench_sample(&r->clean.seconds, seconds);
    bench_sample(&r->clean.fractions, limit / seconds);
}

void bench_record_result(const struct bench_record *r, struct bench_timing *out)
{
    out->cpu_time = r->clean.seconds.n < MIN_CLEAN && r->clean.seconds.n < r->all.seconds.n;
    const struct bench_rounds *use = out->cpu_time ? &r->all : &r->clean;
    out->seconds = bench_summarize(&use->seconds);
    out->fraction = bench_summarize(&use->fractions).median;
    out->rounds = use->seconds.n;
}

/* Finds the number of calls per round from the fastest of up to four calls, which also warm up. */
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

/* Runs one round, repeated up to `tries` times while threads are preempted. *seconds: of one
 * call. */
static quire_status one_round(struct bench_machine *m, const struct bench_work *work,
                              unsigned calls, unsigned tries, double *seconds, bool *preempted,
                              struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    *preempted = true;
    for (unsigned i = 0; i < tries && *preempted && s == QUIRE_OK; i++) {
        struct bench_stopwatch watch;
        bench_stopwatch_start(m, &watch);
        for (unsigned k = 0; k < calls && s == QUIRE_OK; k++)
            s = work->run(work->arg, err);
        *seconds = bench_stopwatch_stop(m, &watch, preempted) / calls;
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
        bool preempted;
        const unsigned tries = bench_now() - start < max_seconds ? TRIES : 1;
        s = one_round(m, work, calls, tries, &seconds, &preempted, err);
        const double after = bench_limit(m, work, &out->limit);
        bench_record_add(&record, seconds, fmin(before, after), preempted);
        before = after;
    }
    bench_record_result(&record, out);
    return s;
}
