/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"
#include "exchange_io.h"
#include "http.h"
#include "router.h"
#include "server.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_UNREAD_BYTES = 16 << 20 };

const char *exchange_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->io->connection->handle, MHD_HEADER_KIND, name);
}

const char *exchange_query(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->io->connection->handle, MHD_GET_ARGUMENT_KIND, name);
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    struct exchange_io *io = x->io;
    if (io->n_headers == MAX_HEADERS)
        return;
    char *n = strdup(name), *v = strdup(value);
    if (n == NULL || v == NULL) {
        free(n);
        free(v);
        return;
    }
    io->headers[io->n_headers].name = n;
    io->headers[io->n_headers++].value = v;
}

static void reply(struct exchange *x, int status, const char *content_type, struct text *body)
{
    struct exchange_io *io = x->io;
    io->status = status;
    io->content_type = content_type;
    io->out = *body;
    io->ready = true;
    exchange_end(x);
}

void exchange_reply(struct exchange *x, int status, const char *content_type, const void *body,
                    size_t size)
{
    struct text copy = { 0 };
    text_add(&copy, body, size);
    if (copy.failed) {
        text_free(&copy);
        status = 500;
    }
    reply(x, status, content_type, &copy);
}

static int add_json(const char *data, size_t size, void *user)
{
    struct text *t = user;
    text_add(t, data, size);
    return t->failed ? -1 : 0;
}

/* Appends JSON to *out and drops the reference. */
static bool write_json(struct text *out, json_t *json)
{
    const bool ok = json != NULL && json_dump_callback(json, add_json, out, JSON_COMPACT) == 0;
    json_decref(json);
    return ok;
}

void exchange_reply_json(struct exchange *x, int status, json_t *json)
{
    static const char no_memory[] =
        "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\"}}";
    struct text body = { 0 };
    if (!write_json(&body, json)) {
        text_free(&body);
        exchange_reply(x, 500, "application/json", no_memory, sizeof no_memory - 1);
        return;
    }
    text_add_string(&body, "\n");
    reply(x, status, "application/json", &body);
}

void exchange_reply_error(struct exchange *x, const struct api_error *error)
{
    if (error->retry_after > 0) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "%.0f", ceil(fmin(error->retry_after, 86400)));
        exchange_add_header(x, "Retry-After", seconds);
    }
    if (error->status == 401)
        exchange_add_header(x, "WWW-Authenticate", "Bearer");
    exchange_reply_json(
        x, error->status,
        api_error_json(error, x->route ? x->route->dialect : DIALECT_OPENAI, x->id));
}

void exchange_begin_stream(struct exchange *x, int status, const char *content_type)
{
    x->io->status = status;
    x->io->content_type = content_type;
    x->io->ready = x->io->streaming = true;
    exchange_add_header(x, "Cache-Control", "no-cache");
    exchange_add_header(x, "X-Accel-Buffering", "no"); /* nginx passes pieces on at once */
    http_wake(x);
}

bool exchange_is_streaming(const struct exchange *x) { return x->io->streaming; }

/* Whether x can be written to; makes room by dropping what was sent. */
static bool can_write(struct exchange *x)
{
    struct exchange_io *io = x->io;
    if (io->gone || io->ended)
        return false;
    if (io->out_start > 0 && io->out_start * 2 >= io->out.size) {
        io->out.size -= io->out_start;
        memmove(io->out.data, io->out.data + io->out_start, io->out.size);
        io->out_start = 0;
    }
    if (io->out.size == io->out_start)
        io->last_read = loop_now(x->server->loop);
    return true;
}

/* After writing: wakes the connection, or drops a client that does not read. */
static void written(struct exchange *x)
{
    const struct exchange_io *io = x->io;
    if (io->out.failed || io->out.size - io->out_start > MAX_UNREAD_BYTES)
        http_drop(x);
    else
        http_wake(x);
}

void exchange_write(struct exchange *x, const void *data, size_t size)
{
    if (!can_write(x)) /* also false before the loop has told the owner that the client is gone */
        return;
    text_add(&x->io->out, data, size);
    written(x);
}

void exchange_write_event(struct exchange *x, const char *name, json_t *json)
{
    if (!can_write(x)) {
        json_decref(json);
        return;
    }
    struct text *out = &x->io->out;
    if (name != NULL)
        text_format(out, "event: %s\n", name);
    text_add_string(out, "data: ");
    if (!write_json(out, json))
        out->failed = true;
    text_add_string(out, "\n\n");
    written(x);
}

void exchange_end(struct exchange *x)
{
    x->aborted = NULL;
    if (x->io->out.size == x->io->out_start || !x->io->streaming)
        x->io->last_read = loop_now(x->server->loop);
    x->io->ended = true;
    http_wake(x);
}
