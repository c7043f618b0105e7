/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - the HTTP layer: libmicrohttpd driven by the event loop.
 *
 * Every listening socket has a daemon of libmicrohttpd whose epoll descriptor the loop watches. A
 * connection that waits for its answer is suspended, and libmicrohttpd does not notice then that
 * the client has gone: the loop watches its descriptor for the end of the stream. A client that
 * shuts down its sending side before it has the answer counts as gone. */
#ifndef QUIRE_SERVE_HTTP_H
#define QUIRE_SERVE_HTTP_H
#include "error.h"
#include "listen.h"
#include <stdbool.h>

struct connection;
struct exchange;
struct http;
struct server;

/* Begins to serve. Takes the descriptors of the listeners. NULL: *error. */
struct http *http_start(struct server *server, const struct listener *listeners, unsigned n,
                        struct api_error *error);

/* Accepts no more connections; idle ones are closed. */
void http_quiesce(struct http *h);

/* Closes all connections. Exchanges that are not answered are aborted. */
void http_stop(struct http *h);

unsigned http_connections(const struct http *h);
bool http_is_idle(const struct http *h); /* every answer is sent */

/* For the files of this folder: */

/* Ends the connection after this time, unless another deadline is set before. */
void http_set_deadline(struct connection *c, double seconds);

/* Lets the connection of x go on after something was written. */
void http_wake(struct exchange *x);

/* Ends the connection of x, whose client is too slow. */
void http_drop(struct exchange *x);

#endif
