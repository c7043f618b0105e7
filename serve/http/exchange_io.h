/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_io.h - state of an exchange that http.c and exchange.c share. */
#ifndef QUIRE_SERVE_EXCHANGE_IO_H
#define QUIRE_SERVE_EXCHANGE_IO_H
#include "loop.h"
#include "text.h"
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct exchange;
struct http;

/* One connection: its timer ends it when a phase takes too long. */
struct connection {
    struct http *http;
    struct MHD_Connection *handle;
    int fd;
    bool watched;             /* for the end of the input */
    bool input_ended;         /* the client sends nothing more */
    struct loop_timer wake;   /* of a read that has missed the end */
    struct exchange *current; /* NULL: no request is being answered */
    struct loop_timer deadline;
    struct connection *previous, *next;
};

enum { MAX_HEADERS = 16 };

struct exchange_io {
    struct http *http;
    struct connection *connection;
    struct text body;        /* received so far */
    bool too_large;          /* the body is over the limit and not kept */
    struct api_error *early; /* an error before the handler was called */
    bool handled;            /* the handler has been called */
    bool ready;              /* status and headers of the answer are known */
    bool queued;             /* libmicrohttpd has the answer */
    bool ended;              /* all of it is in `out` */
    bool streaming;
    bool suspended;
    bool gone; /* the client has gone, or is too slow */
    int status;
    const char *content_type; /* static storage */
    struct {
        char *name, *value;
    } headers[MAX_HEADERS];
    unsigned n_headers;
    struct text out; /* written and not sent yet, from out_start */
    size_t out_start;
    double
        last_read; /* loop_now() when the client read, or since when there is something to read */
    struct loop_timer report; /* calls x->aborted from the loop */
};

#endif
