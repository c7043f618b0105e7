/* SPDX-License-Identifier: Apache-2.0 */
/* bench_peer.h - runs llama-bench, or a program with its options, and reads its JSON. */
#ifndef QUIRE_BENCH_BENCH_PEER_H
#define QUIRE_BENCH_BENCH_PEER_H
#include "bench_model.h"

struct peer {
    const char *program, *model;
    char *const *extra; /* further arguments, NULL-terminated */
    uint32_t threads;
    bool has_depth; /* the program has -d; otherwise -gp DEPTH,N replaces it */
    /* option that disables the warm-up run, and its value; NULL: none */
    const char *no_warmup[2];
    char about[160]; /* commit, model type and KV types that the program reports */
};

/* Finds the options of the program from its --help. Returns 0, or an exit code with a message on
 * stderr. */
int peer_open(struct peer *p, const struct bench_options *o, uint32_t threads);

/* Gets tokens per second of each test, NaN for tests that the program lacks. Returns 0,
 * or an exit code with a message on stderr. */
int peer_run(struct peer *p, const struct model_tests *tests, double *rates);

#endif
