/* SPDX-License-Identifier: Apache-2.0 */
/* bench_stats.c - clocks, and medians with confidence intervals. */
#include "bench_stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_now(void) { return read_clock(CLOCK_MONOTONIC); }
double bench_cpu_now(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void bench_sample(struct bench_samples *s, double v)
{
    if (s->n < BENCH_MAX_SAMPLES)
        s->v[s->n++] = v;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rank r (from 0) such that sorted[r]..sorted[n-1-r] covers the median with at least 95 %: the
 * largest r with 2 * P(Binomial(n, 1/2) < r + 1) <= 5 %. */
static unsigned interval_rank(unsigned n)
{
    double term = pow(0.5, n), below = term; /* P(X = 0); not 0 for n <= BENCH_MAX_SAMPLES */
    unsigned r = 0;
    for (unsigned k = 1; k <= n / 2; k++) {
        term *= (double)(n - k + 1) / k;
        if (2 * (below + term) > 0.05)
            break;
        below += term;
        r = k;
    }
    return r;
}

struct bench_summary bench_summarize(const struct bench_samples *s)
{
    struct bench_summary out = { NAN, NAN, NAN, NAN, NAN };
    const unsigned n = s->n;
    if (n == 0)
        return out;
    double v[BENCH_MAX_SAMPLES], sum = 0, squares = 0;
    memcpy(v, s->v, n * sizeof *v);
    qsort(v, n, sizeof *v, by_value);
    for (unsigned i = 0; i < n; i++)
        sum += v[i];
    out.mean = sum / n;
    for (unsigned i = 0; i < n; i++)
        squares += (v[i] - out.mean) * (v[i] - out.mean);
    out.sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
    out.median = 0.5 * (v[(n - 1) / 2] + v[n / 2]);
    const unsigned r = interval_rank(n);
    out.lo = v[r];
    out.hi = v[n - 1 - r];
    return out;
}
