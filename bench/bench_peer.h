/* SPDX-License-Identifier: Apache-2.0 */
/* bench_peer.h - runs a peer's benchmark program and reads its JSON. */
#ifndef QUIRE_BENCH_BENCH_PEER_H
#define QUIRE_BENCH_BENCH_PEER_H
#include "bench_model.h"

struct peer {
    const char *program, *model;
    char *const *extra; /* further arguments, NULL-terminated */
    uint32_t threads;
    bool has_depth; /* the program knows -d; else it is tried with -gp DEPTH,N */
    /* option that switches the first run off, and its value; NULL: none */
    const char *no_warmup[2];
    char about[160]; /* what it says of itself: commit, model type, KV types */
};

/* Asks the program for its help. Prints why it fails; the exit code. */
int peer_open(struct peer *p, const struct bench_options *o, uint32_t threads);

/* Tokens per second of each test, NaN for tests that the program does not know. Prints why it fails; exit code. */
int peer_run(struct peer *p, const struct model_tests *tests, double *rates);

#endif
