/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_log.c - records of requests, percentiles, goodput. */
#include "bench_serve_log.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool serve_log_open(struct serve_log *log, uint32_t n)
{
    *log = (struct serve_log){ .n = n, .records = calloc(n, sizeof *log->records) };
    for (uint32_t i = 0; log->records && i < n; i++)
        log->records[i].queue_seconds = NAN;
    return log->records != NULL;
}

void serve_log_close(struct serve_log *log)
{
    free(log->records);
    free(log->gaps);
    *log = (struct serve_log){ 0 };
}

void serve_log_arrive(struct serve_log *log, uint32_t i, double arrival)
{
    log->records[i].state = SERVE_OPEN;
    log->records[i].arrival = arrival;
}

static void add_gap(struct serve_log *log, struct serve_gap gap)
{
    if (log->n_gaps == log->max_gaps) {
        const size_t more = log->max_gaps ? 2 * log->max_gaps : 4096;
        struct serve_gap *grown = realloc(log->gaps, more * sizeof *grown);
        log->no_memory |= !grown;
        if (!grown)
            return;
        log->gaps = grown;
        log->max_gaps = more;
    }
    log->gaps[log->n_gaps++] = gap;
}

void serve_log_tokens(struct serve_log *log, uint32_t i, uint32_t n, double now)
{
    struct serve_record *r = &log->records[i];
    for (uint32_t k = 0; k < n; k++) {
        if (r->n_output++ == 0)
            r->first = now;
        else
            add_gap(log, (struct serve_gap){ now, now - r->last, i });
        r->last = now;
    }
}

void serve_log_end(struct serve_log *log, uint32_t i, enum serve_state state, const char *error)
{
    log->records[i].state = state;
    if (state == SERVE_FAILED && log->n_failed++ == 0)
        snprintf(log->error, sizeof log->error, "request %u: %s", i + 1, error);
}

/* ---- Summaries */

double serve_percentile(const double *sorted, size_t n, double p)
{
    if (n == 0)
        return NAN;
    const double rank = p * (double)(n - 1);
    const size_t below = (size_t)rank;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (rank - (double)below) * (sorted[below + 1] - sorted[below]);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct serve_summary serve_summarize(double *v, size_t n)
{
    double sum = 0;
    if (n)
        qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return (struct serve_summary){ .n = n,
                                   .mean = n ? sum / (double)n : NAN,
                                   .p50 = serve_percentile(v, n, 0.5),
                                   .p90 = serve_percentile(v, n, 0.9),
                                   .p99 = serve_percentile(v, n, 0.99),
                                   .max = n ? v[n - 1] : NAN };
}

static struct serve_summary summary_without_values(void) { return serve_summarize(NULL, 0); }

struct serve_summary serve_log_summary(const struct serve_log *log, enum serve_figure figure)
{
    double *v = malloc((log->n + log->n_gaps) * sizeof *v);
    size_t n = 0;
    if (!v)
        return summary_without_values();
    for (uint32_t i = 0; i < log->n && figure != SERVE_ITL; i++) {
        const struct serve_record *r = &log->records[i];
        const double x = figure == SERVE_TTFT ? serve_ttft(r) : r->queue_seconds;
        if (r->state != SERVE_FAILED && isfinite(x))
            v[n++] = x;
    }
    for (size_t i = 0; i < log->n_gaps && figure == SERVE_ITL; i++)
        if (log->records[log->gaps[i].request].state != SERVE_FAILED)
            v[n++] = log->gaps[i].seconds;
    const struct serve_summary s = serve_summarize(v, n);
    free(v);
    return s;
}

struct serve_summary serve_log_gaps_between(const struct serve_log *log, double from, double to,
                                            uint32_t except)
{
    double *v = malloc((log->n_gaps + 1) * sizeof *v);
    size_t n = 0;
    if (!v)
        return summary_without_values();
    for (size_t i = 0; i < log->n_gaps; i++) {
        const struct serve_gap *g = &log->gaps[i];
        if (g->at > from && g->at <= to && g->request != except)
            v[n++] = g->seconds;
    }
    const struct serve_summary s = serve_summarize(v, n);
    free(v);
    return s;
}

double serve_ttft(const struct serve_record *r)
{
    return r->n_output ? r->first - r->arrival : NAN;
}

double serve_mean_itl(const struct serve_record *r)
{
    return r->n_output > 1 ? (r->last - r->first) / (r->n_output - 1) : 0;
}

struct serve_goodput serve_log_goodput(const struct serve_log *log, double max_ttft, double max_itl)
{
    uint32_t n = 0, n_counted = 0;
    for (uint32_t i = 0; i < log->n; i++) {
        const struct serve_record *r = &log->records[i];
        n_counted += r->state != SERVE_CANCELLED;
        if (r->state != SERVE_DONE || r->n_output == 0)
            continue;
        n += (max_ttft <= 0 || serve_ttft(r) <= max_ttft) &&
             (max_itl <= 0 || serve_mean_itl(r) <= max_itl);
    }
    return (struct serve_goodput){ n, n_counted ? (double)n / n_counted : (double)NAN };
}
