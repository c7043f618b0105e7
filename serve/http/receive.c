/* SPDX-License-Identifier: Apache-2.0 */
#include "receive.h"
#include "cors.h"
#include "exchange.h"
#include "exchange_io.h"
#include "host_check.h"
#include "http.h"
#include "keys.h"
#include "router.h"
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DISCARDED_BYTES = 64 << 20 }; /* of a body that is too large */

static enum MHD_Result count_length(void *user, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind;
    (void)value;
    *(int *)user += strcasecmp(name, "Content-Length") == 0;
    return MHD_YES;
}

/* Refuses what proxies and servers could read differently: request smuggling. */
static bool check_framing(struct exchange *x, struct api_error *e)
{
    struct MHD_Connection *handle = x->io->connection->handle;
    const char *encoding = exchange_header(x, "Transfer-Encoding");
    int lengths = 0;
    MHD_get_connection_values(handle, MHD_HEADER_KIND, count_length, &lengths);
    if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
        return api_fail(e, 501, NULL, NULL, "Transfer-Encoding must be chunked.");
    if (lengths > 1 || (lengths == 1 && encoding != NULL))
        return api_fail(e, 400, NULL, NULL, "The length of the body is ambiguous.");
    const char *length = exchange_header(x, "Content-Length");
    if (length != NULL && strtoull(length, NULL, 10) > x->server->options.max_body)
        return api_fail(e, 413, NULL, NULL, "The body is larger than %llu bytes.",
                        (unsigned long long)x->server->options.max_body);
    return true;
}

static bool check_route(struct exchange *x, struct api_error *e)
{
    char allowed[64];
    const struct server *s = x->server;
    x->route = router_find(x->method, x->path, &x->path_rest, allowed);
    const bool is_public = x->route != NULL && (x->route->flags & ROUTE_PUBLIC);
    if (!is_public && !host_allows(x))
        return api_fail(e, 403, NULL, NULL,
                        "The host name '%.100s' is not allowed: see --allowed-host.",
                        exchange_header(x, "Host"));
    if (!is_public) {
        x->key = keys_find(s->keys, exchange_header(x, "Authorization"),
                           exchange_header(x, "x-api-key"));
        if (x->key == NULL)
            return api_fail(e, 401, "invalid_api_key", NULL, "The API key is missing or wrong.");
    }
    if (!cors_allows(x))
        return api_fail(e, 403, NULL, NULL, "The web origin is not allowed: see --cors-origin.");
    if (x->route == NULL && allowed[0] != '\0') {
        exchange_add_header(x, "Allow", allowed);
        return api_fail(e, 405, NULL, NULL, "%s is not allowed here: use %s.", x->method, allowed);
    }
    if (x->route == NULL)
        return api_fail(e, 404, NULL, NULL, "There is no route %s %.200s.", x->method, x->path);
    /* other routes than those that read may occupy a model, too */
    if (s->draining && strcmp(x->route->method, "POST") == 0) {
        api_fail(e, 503, NULL, NULL, "The server is shutting down.");
        e->retry_after = s->options.drain_timeout;
        return false;
    }
    return true;
}

bool receive_header(struct exchange *x)
{
    struct exchange_io *io = x->io;
    http_set_deadline(io->connection, x->server->options.body_timeout);
    if (check_framing(x, io->early) && cors_preflight(x))
        return true;
    if (io->early->status == 0)
        check_route(x, io->early);
    if (io->early->status == 0)
        return false;
    exchange_reply_error(x, io->early);
    return true;
}

bool receive_body(struct exchange *x, const char *data, size_t *size)
{
    struct exchange_io *io = x->io;
    const size_t max = x->server->options.max_body;
    io->body.size += io->too_large ? *size : 0;
    if (!io->too_large && *size > max - io->body.size) {
        io->too_large = true;
        free(io->body.data);
        io->body = (struct text){ .size = max };
    }
    if (io->too_large && io->body.size > max + MAX_DISCARDED_BYTES)
        return false;
    if (!io->too_large)
        text_add(&io->body, data, *size);
    *size = 0;
    return !io->body.failed;
}

void receive_end(struct exchange *x)
{
    struct exchange_io *io = x->io;
    loop_timer_clear(x->server->loop, &io->connection->deadline);
    io->handled = true;
    if (io->too_large) {
        api_fail(io->early, 413, NULL, NULL, "The body is larger than %llu bytes.",
                 (unsigned long long)x->server->options.max_body);
        exchange_reply_error(x, io->early);
        return;
    }
    if (io->body.data != NULL)
        x->body = io->body.data;
    x->body_size = io->body.size;
    x->route->handler(x);
}
