/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - one HTTP request and its answer. All functions are for the thread of the event loop.
 *
 * A route's handler is called when the whole body is there. It answers at once, or keeps the
 * exchange and answers later; then it sets `aborted` to learn that the client has gone. After the
 * last call of an answer (exchange_reply*, exchange_end) and after `aborted`, the exchange must not
 * be used any more. */
#ifndef QUIRE_SERVE_EXCHANGE_H
#define QUIRE_SERVE_EXCHANGE_H
#include "error.h"
#include "keys.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;
struct route;
struct MHD_Connection;

struct exchange {
    struct server *server;
    const struct route *route;
    const char *method, *path; /* path without query, as sent */
    const char *path_rest;     /* what the `*` at the end of the route's path matched */
    const char *body;          /* NUL-terminated after body_size bytes */
    size_t body_size;
    char id[40];           /* X-Request-Id of the answer: the client's if well formed, or ours */
    const struct key *key; /* API key of the client; without --api-key-file the anonymous one */
    double received;       /* loop_now() when the header was complete */
    void (*aborted)(void *user); /* the client has gone; may be NULL */
    void *user;
    struct exchange_io *io; /* state of the HTTP layer */
};

/* Header of the request (any case) or query parameter, decoded; NULL if absent. */
const char *exchange_header(const struct exchange *x, const char *name);
const char *exchange_query(const struct exchange *x, const char *name);

/* Adds a header to the answer; before exchange_reply*() or exchange_begin_stream(). */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

/* Answers with a whole body, which is copied. */
void exchange_reply(struct exchange *x, int status, const char *content_type, const void *body,
                    size_t size);
/* Answers with JSON and drops the reference to it. NULL (out of memory while it was built) is a
 * 500. */
void exchange_reply_json(struct exchange *x, int status, json_t *json);
/* Answers with an error in the dialect of the route. */
void exchange_reply_error(struct exchange *x, const struct api_error *error);

/* Begins an answer in pieces. */
void exchange_begin_stream(struct exchange *x, int status, const char *content_type);
bool exchange_is_streaming(const struct exchange *x);
/* Sends a piece. A client that reads nothing for --send-timeout, or leaves more than 16 MiB unread,
 * loses its connection; `aborted` is called later, from the loop. */
void exchange_write(struct exchange *x, const void *data, size_t size);
/* Sends a server-sent event: "event: NAME" (none if NULL), "data: JSON"; drops the reference. */
void exchange_write_event(struct exchange *x, const char *name, json_t *json);
/* Ends the answer. */
void exchange_end(struct exchange *x);

#endif
