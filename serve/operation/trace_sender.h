/* SPDX-License-Identifier: Apache-2.0 */
/* trace_sender.h - the process that sends traces to a collector.
 *
 * It is a process and not a thread because it alone needs sockets that connect, which the server's
 * sandbox denies. It is forked before the server has threads, listening sockets or keys. A pair of
 * sockets carries the spans. Its buffer is the queue: bounded, and writing to it never waits. */
#ifndef QUIRE_SERVE_TRACE_SENDER_H
#define QUIRE_SERVE_TRACE_SENDER_H
#include "error.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct collector_url;

enum { MAX_SPAN_BYTES = 16384 };

struct trace_sender {
    int fd; /* each message is one span in JSON */
    pid_t pid;
};

/* Result of sending a batch of spans. */
struct trace_report {
    uint32_t sent, failed; /* spans */
    char error[120];       /* of `failed` */
};

/* Resolves the host, forks and returns in the server only. prefix and suffix surround the spans in
 * the body of a request and outlive the call. False: *error. */
bool trace_sender_start(struct trace_sender *s, const struct collector_url *url, const char *prefix,
                        const char *suffix, bool sandbox, struct api_error *error);

/* Queues a span. False: it is too large, the queue is full, or the sender has ended. */
bool trace_sender_put(struct trace_sender *s, const char *span, size_t size);

/* The next report, waiting for at most `milliseconds`. False: none. */
bool trace_sender_report(struct trace_sender *s, struct trace_report *report, int milliseconds);

/* No more spans: the sender sends what it has and ends. Its last reports can be read afterwards. */
void trace_sender_finish(struct trace_sender *s);
void trace_sender_close(struct trace_sender *s);

#endif
