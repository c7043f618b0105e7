/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - counters and histograms in Prometheus' text format. Event loop only. */
#ifndef QUIRE_SERVE_METRICS_H
#define QUIRE_SERVE_METRICS_H
#include <stdint.h>

struct exchange;
struct generation;
struct metrics;
struct model;
struct quire_event;

struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *m);

/* An answer with this HTTP status was sent, or aborted by the client (status 499). */
void metrics_http(struct metrics *m, const char *route, int status, double seconds);
/* A parameter that does not change answers was ignored. */
void metrics_ignored_parameter(struct metrics *m, const char *name);
/* All requests of a generation have ended. */
void metrics_generation(struct metrics *m, const struct generation *g);
/* Time between two tokens of an answer, or from arrival to the first one, in seconds. */
void metrics_inter_token(struct metrics *m, const struct model *model, double seconds);
void metrics_first_token(struct metrics *m, const struct model *model, double seconds);
/* Requests refused because the queue is full or a limit of the key is reached. */
void metrics_refused(struct metrics *m, const char *reason);

/* GET /metrics */
void metrics_route(struct exchange *x);

#endif
