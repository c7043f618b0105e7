/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_workload.h - requests that `quire-bench serve` plays: arrivals, lengths, prompts. */
#ifndef QUIRE_BENCH_BENCH_SERVE_WORKLOAD_H
#define QUIRE_BENCH_BENCH_SERVE_WORKLOAD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WORKLOAD_MAX_REQUESTS = 65536, /* the engine's limit of max_requests */
    WORKLOAD_MAX_TOKENS = 1 << 20, /* of a prompt, of an answer */
    WORKLOAD_MAX_TRACE = 1 << 26,  /* bytes of a trace file */
};

struct workload_request {
    double arrival;          /* seconds after the start of the stream */
    uint32_t prompt, answer; /* tokens, at least 1 */
    uint32_t group;          /* of requests with a common prefix; 0 = none */
};

struct workload {
    struct workload_request *requests; /* [n] by arrival */
    uint32_t n;
    uint32_t concurrency;   /* requests in flight; arrival times are ignored. 0 = by arrival */
    uint32_t shared_prefix; /* leading tokens that the prompts of a group have in common */
    uint32_t hold_tokens;   /* the last request arrives when all others have so many; 0 = off */
    uint64_t seed;
};

/* Distribution of lengths: uniform over a .. b, or log-normal with mean a and standard deviation
 * b, rounded and at least 1. */
struct workload_lengths {
    bool log_normal;
    double a, b;
};

/* Parses "N", "A-B" (uniform) or "MEAN,SD" (log-normal). */
bool workload_parse_lengths(const char *text, struct workload_lengths *out);
uint32_t workload_draw_length(const struct workload_lengths *lengths, uint64_t *rng);
/* Seconds to the next arrival of a Poisson process of `rate` arrivals per second. */
double workload_draw_interval(double rate, uint64_t *rng);

struct workload_params {
    uint32_t n, n_groups,
        shared_prefix; /* prompts get shared_prefix tokens on top of their length */
    double rate;       /* arrivals per second; 0 = all at once */
    struct workload_lengths prompt, answer;
    uint64_t seed;
};
/* Generates requests; with n_groups > 0 they belong to the groups in turn. False: no memory. */
bool workload_generate(struct workload *w, const struct workload_params *params);

/* Reads a trace: one JSON object per line, {"arrival": seconds, "prompt_tokens": n,
 * "answer_tokens": n, "prefix_group": number}, the last member optional. Arrivals ascend.
 * prompt_tokens includes the shared prefix. False: `message` names line and member. */
bool workload_parse_trace(struct workload *w, const char *text, size_t size, char *message,
                          size_t message_size);
bool workload_read_trace(struct workload *w, const char *path, char *message, size_t message_size);

void workload_free(struct workload *w);

/* Hash that selects token `position` of the prompt of request i: equal within a shared prefix,
 * otherwise random. */
uint64_t workload_token(const struct workload *w, uint32_t i, uint32_t position);

#endif
