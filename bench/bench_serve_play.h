/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_play.h - plays a workload against a target: the engine, or a server. */
#ifndef QUIRE_BENCH_BENCH_SERVE_PLAY_H
#define QUIRE_BENCH_BENCH_SERVE_PLAY_H
#include "bench.h"
#include "bench_serve_log.h"
#include "bench_serve_workload.h"

/* Computes answers. All functions run in the thread that plays. */
struct serve_target {
    void *self;
    /* Submits request i, which is open in the log. A failure ends it in the log. */
    void (*submit)(void *self, uint32_t i);
    /* Waits at most `seconds` (negative: without limit) and records what has arrived. */
    void (*wait)(void *self, double seconds);
    void (*cancel)(void *self, uint32_t i);
};

/* Plays all requests until each has ended. */
void serve_play(const struct workload *w, const struct serve_target *target, struct serve_log *log);

struct serve_setup {
    const struct bench_options *o;
    const struct workload *w;
    struct serve_log *log;
    const char *model_path; /* engine: the model; server: the name of the model, or NULL */
};

/* What the engine was, after it has played. */
struct serve_engine_result {
    char model[64], weight_type[16];
    uint32_t n_threads, max_seqs, context_length;
    uint64_t cache_tokens, n_preemptions, n_steps;
    uint64_t n_drafted, n_accepted; /* tokens, of both sources */
};

/* Opens an engine with a thread of its own, plays, closes. Returns 0, or an exit code with a
 * message on stderr. */
int serve_engine(const struct serve_setup *setup, struct serve_engine_result *result);
/* Plays against the OpenAI-compatible server at o->url. Returns as serve_engine(). */
int serve_url(const struct serve_setup *setup);

/* Parts of http://HOST[:PORT][/PATH]; an IPv6 address stands in brackets. */
struct serve_address {
    char host[256], port[6], path[256]; /* path without a final slash */
    bool brackets;                      /* of an IPv6 address in the Host header */
};
bool serve_parse_url(const char *url, struct serve_address *out);

#endif
