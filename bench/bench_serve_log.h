/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_log.h - what the client of a stream of requests observed: times of tokens, ends. */
#ifndef QUIRE_BENCH_BENCH_SERVE_LOG_H
#define QUIRE_BENCH_BENCH_SERVE_LOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum serve_state { SERVE_WAITING, SERVE_OPEN, SERVE_DONE, SERVE_CANCELLED, SERVE_FAILED };

/* Times are bench_now() in seconds. */
struct serve_record {
    enum serve_state state;
    double arrival, first, last; /* arrival; first and last token */
    double queue_seconds;        /* as reported; NaN = not reported */
    double generate_seconds;     /* from first to last token, as reported; 0 = not reported */
    uint32_t n_prompt, n_cached, n_output;
};

/* Time between two tokens of one answer. Tokens that arrive together have gaps of 0 but the first:
 * this is what a reader of the stream sees. */
struct serve_gap {
    double at, seconds; /* at: when the later token arrived */
    uint32_t request;
};

struct serve_log {
    struct serve_record *records; /* [n] */
    uint32_t n, n_failed;
    struct serve_gap *gaps; /* [n_gaps] in order of time */
    size_t n_gaps, max_gaps;
    double begin, end;
    bool no_memory;
    char error[256]; /* of the first request that failed */
};

bool serve_log_open(struct serve_log *log, uint32_t n);
void serve_log_close(struct serve_log *log);

void serve_log_arrive(struct serve_log *log, uint32_t i, double arrival);
/* n tokens of request i have arrived. */
void serve_log_tokens(struct serve_log *log, uint32_t i, uint32_t n, double now);
void serve_log_end(struct serve_log *log, uint32_t i, enum serve_state state, const char *error);

/* Percentile p (0 .. 1) of ascending values, interpolated linearly between the two nearest ranks;
 * NaN without values. */
double serve_percentile(const double *sorted, size_t n, double p);

struct serve_summary {
    size_t n;
    double mean, p50, p90, p99, max; /* NaN without values */
};
/* Summarizes values, which are sorted in place. */
struct serve_summary serve_summarize(double *values, size_t n);

enum serve_figure { SERVE_TTFT, SERVE_ITL, SERVE_QUEUE };
/* Seconds of requests that did not fail, cancelled ones included; for SERVE_ITL, their gaps. */
struct serve_summary serve_log_summary(const struct serve_log *log, enum serve_figure figure);
/* Gaps of all requests but `except` that ended in (from, to]. */
struct serve_summary serve_log_gaps_between(const struct serve_log *log, double from, double to,
                                            uint32_t except);

/* Seconds from arrival to the first token; mean seconds between tokens, 0 for a single token. */
double serve_ttft(const struct serve_record *r);
double serve_mean_itl(const struct serve_record *r);
/* Requests that ended well with a TTFT and a mean inter-token latency within limits. */
struct serve_goodput {
    uint32_t n;
    double share; /* of the requests that were not cancelled; NaN without any */
};
/* Limits are in seconds; 0 = no limit. */
struct serve_goodput serve_log_goodput(const struct serve_log *log, double max_ttft,
                                       double max_itl);

#endif
