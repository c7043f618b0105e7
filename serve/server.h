/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what the parts of the server share. */
#ifndef QUIRE_SERVE_SERVER_H
#define QUIRE_SERVE_SERVER_H
#include "options.h"
#include <stdbool.h>
#include <stdint.h>

struct server {
    struct options options;
    struct loop *loop;
    struct registry *registry;
    struct keys *keys;
    struct metrics *metrics;
    struct response_store *responses;
    struct http *http;
    struct log *log;
    struct trace *trace;            /* NULL without a collector */
    struct generation *generations; /* that have been started and not ended */
    uint64_t n_generations;         /* that were created */
    bool draining;                  /* SIGTERM: no new work */
    bool checks_host;               /* see host_check.h */
};

#endif
