/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - OpenTelemetry spans by OTLP/HTTP: one per generation, named by the semantic conventions
 * for generative AI. Spans have sizes and times, never prompts or answers. Event loop only. */
#ifndef QUIRE_SERVE_TRACE_H
#define QUIRE_SERVE_TRACE_H
#include "error.h"
#include <stdbool.h>
#include <stdint.h>

struct exchange;
struct generation;
struct log;
struct trace;

/* What a span needs from its HTTP request. */
struct trace_span {
    bool recorded;
    uint8_t trace_id[16], id[8];
    uint8_t parent_id[8]; /* all zeros: a root span */
    int64_t start;        /* Unix time in nanoseconds */
    const char *route;
};

/* Starts the process that sends spans to `url` (trace_sender.h); before the server has threads, and
 * before it enters a sandbox. NULL: *error names --otlp-endpoint. */
struct trace *trace_open(const char *url, bool sandbox, struct log *log, struct api_error *error);

/* Waits a few seconds until the last spans are sent. */
void trace_close(struct trace *t);

/* Begins the span of a request, whose header traceparent (W3C Trace Context) names its trace and
 * parent. A parent that is not sampled has no span here either. No-op if t is NULL. */
void trace_begin(struct trace *t, struct trace_span *span, const struct exchange *x);

/* Sends the span of a generation that has ended. Never waits: with a full queue the span is dropped
 * and counted. No-op if t is NULL. */
void trace_generation(struct trace *t, const struct generation *g);

/* Spans so far. */
struct trace_counts {
    uint64_t sent, failed, dropped;
};
struct trace_counts trace_counts(struct trace *t);

#endif
