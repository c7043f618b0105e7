/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_play.c - when requests arrive: by time, by free places, or after others. */
#include "bench_serve_play.h"
#include "bench_stats.h"
#include <time.h>

/* Requests that have not ended. */
static uint32_t count_open(const struct serve_log *log, uint32_t n_started)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_started; i++)
        n += log->records[i].state == SERVE_OPEN;
    return n;
}

static bool all_have_tokens(const struct serve_log *log, uint32_t n, uint32_t tokens)
{
    for (uint32_t i = 0; i < n; i++)
        if (log->records[i].state == SERVE_OPEN && log->records[i].n_output < tokens)
            return false;
    return true;
}

/* Seconds until request i arrives: 0 = now, negative = after an event. */
static double until_arrival(const struct workload *w, const struct serve_log *log, uint32_t i,
                            uint32_t n_open, double now)
{
    if (w->hold_tokens && i + 1 == w->n)
        return all_have_tokens(log, i, w->hold_tokens) ? 0 : -1;
    if (w->concurrency)
        return n_open < w->concurrency ? 0 : -1;
    const double left = log->begin + w->requests[i].arrival - now;
    return left > 0 ? left : 0;
}

static void sleep_for(double seconds)
{
    const struct timespec t = { (time_t)seconds,
                                (long)((seconds - (double)(time_t)seconds) * 1e9) };
    (void)nanosleep(&t, NULL);
}

/* Ends the requests that only run to be observed while the held one is computed. */
static void cancel_others(const struct workload *w, const struct serve_target *target,
                          struct serve_log *log)
{
    for (uint32_t i = 0; i + 1 < w->n; i++)
        if (log->records[i].state == SERVE_OPEN)
            target->cancel(target->self, i);
}

void serve_play(const struct workload *w, const struct serve_target *target, struct serve_log *log)
{
    uint32_t next = 0;
    bool cancelled = false;
    log->begin = bench_now();
    for (;;) {
        double now = bench_now(), wait = -1;
        uint32_t n_open = count_open(log, next);
        while (next < w->n && (wait = until_arrival(w, log, next, n_open, now)) == 0) {
            const bool timed = !w->concurrency && !w->hold_tokens;
            serve_log_arrive(log, next, timed ? log->begin + w->requests[next].arrival : now);
            target->submit(target->self, next);
            n_open += log->records[next].state == SERVE_OPEN;
            next++;
            now = bench_now();
        }
        if (next == w->n)
            wait = -1;
        if (w->hold_tokens && next == w->n && !cancelled &&
            log->records[w->n - 1].state != SERVE_OPEN) {
            cancel_others(w, target, log);
            cancelled = true;
            continue;
        }
        if (n_open)
            target->wait(target->self, wait);
        else if (next == w->n)
            break;
        else
            sleep_for(wait > 0 ? wait : 0);
    }
    log->end = bench_now();
}
