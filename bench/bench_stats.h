/* SPDX-License-Identifier: Apache-2.0 */
/* bench_stats.h - clocks, medians with confidence intervals, random numbers. */
#ifndef QUIRE_BENCH_BENCH_STATS_H
#define QUIRE_BENCH_BENCH_STATS_H
#include <stddef.h>
#include <stdint.h>

double bench_now(void);     /* seconds, monotonic */
double bench_cpu_now(void); /* CPU seconds of this thread */

enum { BENCH_MAX_SAMPLES = 1024 };

struct bench_samples {
    unsigned n;
    double v[BENCH_MAX_SAMPLES];
};

void bench_sample(struct bench_samples *s, double v); /* ignored when full */

/* Summary of samples. lo..hi is the 95 % confidence interval of the median by order statistics,
 * which assumes no distribution; with fewer than six samples it is their whole range. */
struct bench_summary {
    double median, lo, hi, mean, sd;
};
struct bench_summary bench_summarize(const struct bench_samples *s); /* all NaN without samples */

/* xorshift64*. The state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* Uniform in [-1, 1). */
static inline float bench_random_float(uint64_t *state)
{
    return (float)((int32_t)(bench_random(state) >> 32)) * 0x1p-31f;
}

#endif
